/** Models side by side. Lines in which they differ are marked. */

import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { formatCount, PerMillion, Time } from '../../parts/numbers.tsx';
import { TableScroll } from '../../parts/table-scroll.tsx';
import { firstByteText, type ModelFigures, throughputText } from './figures.tsx';
import { isVideoModel, useVideoPrices, VideoPrice } from './prices.tsx';
import { isKnown, type Model } from './query.ts';

interface Line {
  label: string;
  /** Returns the fact that is compared. */
  key(model: Model): string;
  show?(model: Model): ReactNode;
}

const yesNo = (name: string) => (model: Model) => (model.supported_parameters.includes(name) ? 'yes' : 'no');
const price = (name: string) => ({
  key: (model: Model) => String(model.pricing[name]),
  show: (model: Model) =>
    model.pricing[name] === undefined || isVideoModel(model) ? '—' : <PerMillion perToken={model.pricing[name]} />,
});

const LINES: Line[] = [
  { label: 'Input', ...price('prompt') },
  { label: 'Cached input', ...price('input_cache_read') },
  { label: 'Output', ...price('completion') },
  { label: 'Context', key: ({ context_length: tokens }) => (isKnown(tokens) ? formatCount(tokens) : 'unknown') },
  {
    label: 'Longest answer',
    key: ({ top_provider: { max_completion_tokens: tokens } }) => (isKnown(tokens) ? formatCount(tokens) : 'unknown'),
  },
  { label: 'Takes', key: ({ architecture }) => architecture.input_modalities.join(', ') },
  { label: 'Gives', key: ({ architecture }) => architecture.output_modalities.join(', ') },
  { label: 'Tools', key: yesNo('tools') },
  { label: 'Reasoning', key: yesNo('reasoning') },
  { label: 'Structured output', key: yesNo('structured_outputs') },
];

/** Times of late differ all the time, so they are not marked. */
function figureLines({ hasTimes, statisticsOf, changeOf }: ModelFigures): Line[] {
  const times: Line[] = [
    { label: 'First byte', key: () => '', show: ({ id }) => firstByteText(statisticsOf(id)) },
    { label: 'Tokens/s', key: () => '', show: ({ id }) => throughputText(statisticsOf(id)) },
  ];
  return [
    ...(hasTimes ? times : []),
    {
      label: 'Price changed',
      key: () => '',
      show({ id }) {
        const at = changeOf(id)?.changed_at;
        return at === undefined ? '—' : <Time at={at} />;
      },
    },
  ];
}

interface CompareProps {
  models: Model[];
  figures: ModelFigures | undefined;
  onRemove(id: string): void;
  onClear(): void;
}

export function Compare({ models, figures, onRemove, onClear }: CompareProps) {
  const { videoPricesOf } = useVideoPrices();
  const ofVideos: Line = {
    label: 'Video',
    key: ({ id }) => JSON.stringify(videoPricesOf(id)),
    show: (model) => (isVideoModel(model) ? <VideoPrice prices={videoPricesOf(model.id)} /> : '—'),
  };
  const lines = [...(models.some(isVideoModel) ? [ofVideos] : []), ...LINES, ...(figures ? figureLines(figures) : [])];
  return (
    <section aria-label="Comparison" className="border-b bg-page">
      <div className="flex items-center justify-between px-4 pt-2">
        <h2>Compared</h2>
        <button type="button" className="button button-quiet" onClick={onClear}>
          Clear
        </button>
      </div>
      <TableScroll label="Models side by side">
        <table className="data" aria-label="Models side by side">
          <thead>
            <tr>
              <th scope="col" className="!bg-page">
                <span className="sr-only">Property</span>
              </th>
              {models.map(({ id }) => (
                <th key={id} scope="col" className="!bg-page !text-ink min-w-28 !whitespace-normal wrap-anywhere">
                  <span className="flex items-center gap-1">
                    {id}
                    <button
                      type="button"
                      aria-label={`Leave out ${id}`}
                      className="grid size-[24px] place-items-center rounded text-dim hover:bg-hover"
                      onClick={() => onRemove(id)}
                    >
                      <X size={13} aria-hidden />
                    </button>
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map(({ label, key, show }) => {
              const differs = new Set(models.map(key)).size > 1;
              return (
                <tr key={label}>
                  <th scope="row" className="!bg-page max-sm:!whitespace-normal">
                    {label}{' '}
                    {differs && (
                      <span className="rounded bg-warn-soft px-1.5 py-0.5 text-xs text-warn max-sm:block max-sm:w-fit sm:ml-1">
                        differs
                      </span>
                    )}
                  </th>
                  {models.map((model) => (
                    <td key={model.id}>{show ? show(model) : key(model)}</td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </TableScroll>
    </section>
  );
}
