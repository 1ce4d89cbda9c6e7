/** Table of the models: a row each, of which only those in view are in the document. */

import { GitCompare } from 'lucide-react';
import { useMemo } from 'react';
import { formatShort, PerMillion, Time } from '../../parts/numbers.tsx';
import { RowGap } from '../../parts/row-gap.tsx';
import { useRowsInView } from '../../parts/rows-in-view.ts';
import { type Column, numbers, Table } from '../../parts/table.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { firstByteText, type ModelFigures, throughputText } from './figures.tsx';
import { isVideoModel, type ShownPrice, VideoPrice } from './prices.tsx';
import { isKnown, type Model } from './query.ts';

export const MAX_COMPARED = 4;

export function columnsOf(figures: ModelFigures | undefined): Column[] {
  return [
    'Model',
    'Takes',
    ...['Context', 'In', 'Cached', 'Out'].map(numbers),
    ...(figures?.hasTimes ? ['First byte', 'Tokens/s'].map(numbers) : []),
    ...(figures ? [numbers('Price changed')] : []),
    { name: 'Compare', isHidden: true },
  ];
}

interface ModelTableProps {
  models: readonly Model[];
  figures: ModelFigures | undefined;
  videoPricesOf(id: string): readonly ShownPrice[];
  open: string | undefined;
  compared: readonly string[];
  onOpen(id: string): void;
  onCompare(id: string): void;
}

export function ModelTable({ models, figures, videoPricesOf, open, compared, onOpen, onCompare }: ModelTableProps) {
  const ids = useMemo(() => models.map(({ id }) => id), [models]);
  const { body, first, end, above, below, show } = useRowsInView(models.length);
  const rowProps = useListKeys(ids, { open, onOpen, onAbsent: show });
  const columns = columnsOf(figures);
  return (
    <Table label="Models" columns={columns} rowCount={models.length + 1} body={body}>
      <RowGap columns={columns.length} height={above} />
      {models.slice(first, end).map((model, index) => (
        <tr key={model.id} aria-rowindex={first + index + 2} data-opens data-open={model.id === open ? '' : undefined}>
          <td className="min-w-64 max-w-[26rem]">
            <button
              type="button"
              title={model.id}
              className="grid grid-cols-[minmax(0,1fr)] text-left"
              {...rowProps(model.id)}
            >
              <span className="truncate font-medium">{model.id}</span>
              <span className="truncate text-dim">{model.name}</span>
            </button>
          </td>
          <td className="text-dim">{model.architecture.input_modalities.join(', ')}</td>
          <td className="number">{isKnown(model.context_length) ? formatShort(model.context_length) : '—'}</td>
          <td className="number">{isVideoModel(model) ? '—' : <PerMillion perToken={model.pricing.prompt} />}</td>
          <td className="number text-dim">
            {model.pricing.input_cache_read === undefined ? (
              '—'
            ) : (
              <PerMillion perToken={model.pricing.input_cache_read} />
            )}
          </td>
          <td className="number">
            {isVideoModel(model) ? (
              <VideoPrice prices={videoPricesOf(model.id)} />
            ) : (
              <PerMillion perToken={model.pricing.completion} />
            )}
          </td>
          {figures && <FigureCells figures={figures} id={model.id} />}
          <td className="number">
            <button
              type="button"
              className="inline-grid size-[24px] place-items-center rounded-md text-dim hover:bg-hover aria-pressed:bg-accent-soft aria-pressed:text-accent disabled:opacity-40"
              aria-pressed={compared.includes(model.id)}
              aria-label={`Compare ${model.id}`}
              disabled={compared.length >= MAX_COMPARED && !compared.includes(model.id)}
              onClick={() => onCompare(model.id)}
            >
              <GitCompare size={15} aria-hidden />
            </button>
          </td>
        </tr>
      ))}
      <RowGap columns={columns.length} height={below} />
    </Table>
  );
}

function FigureCells({ figures, id }: { figures: ModelFigures; id: string }) {
  const statistics = figures.statisticsOf(id);
  const changedAt = figures.changeOf(id)?.changed_at;
  return (
    <>
      {figures.hasTimes && <td className="number">{firstByteText(statistics)}</td>}
      {figures.hasTimes && <td className="number">{throughputText(statistics)}</td>}
      <td className="number text-dim">{changedAt === undefined ? '—' : <Time at={changedAt} />}</td>
    </>
  );
}
