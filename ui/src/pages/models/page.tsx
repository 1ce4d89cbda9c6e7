/** Catalog: all models with their prices and limits, and up to four of them side by side. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { GitCompare } from 'lucide-react';
import { useDeferredValue, useMemo } from 'react';
import { formatShort, PerMillion } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Empty, ErrorNotice, Loaded } from '../../parts/states.tsx';
import { type Column, numbers, Table } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useListKeys } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { Compare } from './compare.tsx';
import { ModelDetails } from './details.tsx';
import { FilterBar } from './filter-bar.tsx';
import { matching } from './filters.ts';
import { isKnown, keepingNothing, type Model, modelList, providerOf } from './query.ts';

const route = getRouteApi('/models');
const MAX_COMPARED = 4;
/** More are in the list than anybody looks through; a search narrows it. */
const MAX_SHOWN = 300;

const COLUMNS: readonly Column[] = [
  'Model',
  'Takes',
  ...['Context', 'In', 'Cached', 'Out'].map(numbers),
  { name: 'Compare', isHidden: true },
];

export function ModelsPage() {
  const models = useQuery(modelList);
  return (
    <Page title="Models" about="Every model that this gateway offers. Prices are USD for a million tokens.">
      <Card>
        <Loaded asked={models}>{(all) => <Catalog all={all} />}</Loaded>
      </Card>
    </Page>
  );
}

function Catalog({ all }: { all: Model[] }) {
  const { open, compare = '', ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const { isOperator } = useSession();
  const wanted = useDeferredValue(filters);
  const nothing = useQuery({ ...keepingNothing, enabled: isOperator && filters.zdr === true });
  const compared = compare.split(',').filter((id) => all.some((model) => model.id === id));
  const found = useMemo(() => matching(all, wanted, nothing.data), [all, wanted, nothing.data]);
  const providers = useMemo(() => [...new Set(all.map(providerOf))].toSorted(), [all]);
  const shown = found.slice(0, MAX_SHOWN);
  const opened = all.find(({ id }) => id === open);
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const rowProps = useListKeys(
    shown.map(({ id }) => id),
    { open, onOpen: (id) => change({ open: id }) },
  );

  function toggle(id: string) {
    const next = compared.includes(id) ? compared.filter((one) => one !== id) : [...compared, id];
    change({ compare: next.slice(0, MAX_COMPARED).join(',') || undefined });
  }

  return (
    <>
      <FilterBar
        filters={filters}
        providers={providers}
        shown={found.length}
        all={all.length}
        tools={<TableTools table="Models" columns={COLUMNS} file="models" rows={found} />}
        onChange={change}
      />
      {nothing.error && (
        <div className="p-3">
          <ErrorNotice error={nothing.error} onRetry={() => void nothing.refetch()} />
        </div>
      )}
      {compared.length > 0 && (
        <Compare
          models={compared.flatMap((id) => all.find((model) => model.id === id) ?? [])}
          onRemove={toggle}
          onClear={() => change({ compare: undefined })}
        />
      )}
      {shown.length === 0 ? (
        <Empty title={all.length === 0 ? 'No models yet' : 'No model is like that'}>
          {all.length === 0
            ? 'Set the key of a provider, e.g. OPENAI_API_KEY, and start again.'
            : 'Try fewer words or filters. A price or a context that is not known fits no bound.'}
        </Empty>
      ) : (
        <Table
          label="Models"
          columns={COLUMNS}
          below={
            found.length > shown.length && (
              <p className="border-t p-3 text-center text-dim">
                {found.length - shown.length} more; a search narrows them.
              </p>
            )
          }
        >
          {shown.map((model) => (
            <tr key={model.id} data-opens data-open={model.id === open ? '' : undefined}>
              <td>
                <button type="button" className="text-left" {...rowProps(model.id)}>
                  <span className="font-medium">{model.id}</span>
                  <span className="block max-w-[26rem] truncate text-dim">{model.name}</span>
                </button>
              </td>
              <td className="text-dim">{model.architecture.input_modalities.join(', ')}</td>
              <td className="number">{isKnown(model.context_length) ? formatShort(model.context_length) : '—'}</td>
              <td className="number">
                <PerMillion perToken={model.pricing.prompt} />
              </td>
              <td className="number text-dim">
                {model.pricing.input_cache_read === undefined ? (
                  '—'
                ) : (
                  <PerMillion perToken={model.pricing.input_cache_read} />
                )}
              </td>
              <td className="number">
                <PerMillion perToken={model.pricing.completion} />
              </td>
              <td className="number">
                <button
                  type="button"
                  className="inline-grid size-[24px] place-items-center rounded-md text-dim hover:bg-hover aria-pressed:bg-accent-soft aria-pressed:text-accent disabled:opacity-40"
                  aria-pressed={compared.includes(model.id)}
                  aria-label={`Compare ${model.id}`}
                  disabled={compared.length >= MAX_COMPARED && !compared.includes(model.id)}
                  onClick={() => toggle(model.id)}
                >
                  <GitCompare size={15} aria-hidden />
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Panel title={opened?.id ?? ''} isOpen={opened !== undefined} onClose={() => change({ open: undefined })}>
        {opened && <ModelDetails model={opened} />}
      </Panel>
    </>
  );
}
