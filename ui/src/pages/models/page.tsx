/** Catalog: all models with their prices and limits, and up to four of them side by side. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useDeferredValue, useMemo } from 'react';
import { commandWith, pathWith, type SameCall } from '../../parts/copy-as.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Empty, ErrorNotice, Loaded } from '../../parts/states.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { useSession } from '../../session.ts';
import { Compare } from './compare.tsx';
import { ModelDetails } from './details.tsx';
import { type ModelFigures, useModelFigures } from './figures.tsx';
import { FilterBar } from './filter-bar.tsx';
import { type ModelFilters, matching } from './filters.ts';
import { useVideoPrices, type VideoPriceList } from './prices.tsx';
import { keepingNothing, type Model, modelList, providerOf } from './query.ts';
import { columnsOf, MAX_COMPARED, ModelTable } from './rows.tsx';
import { TimesKnownHere } from './times-known-here.tsx';

const route = getRouteApi('/models');

export function ModelsPage() {
  const models = useQuery(modelList);
  const { isOperator } = useSession();
  return (
    <Page
      title="Models"
      about={
        <>
          Every model that this gateway offers. Prices are USD for a million tokens, or of videos.{' '}
          {isOperator && <TimesKnownHere />}
        </>
      }
    >
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
  const figures = useModelFigures();
  const videoPrices = useVideoPrices();
  const sources = [...(figures?.sources ?? []), videoPrices.source];
  const wanted = useDeferredValue(filters);
  const nothing = useQuery({ ...keepingNothing, enabled: isOperator && filters.zdr === true });
  const compared = compare.split(',').filter((id) => all.some((model) => model.id === id));
  const found = useMemo(() => matching(all, wanted, nothing.data), [all, wanted, nothing.data]);
  const providers = useMemo(() => [...new Set(all.map(providerOf))].toSorted(), [all]);
  const opened = all.find(({ id }) => id === open);
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });

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
        tools={
          <TableTools
            table="Models"
            columns={columnsOf(figures)}
            file="models"
            // Made when they are asked for: there may be tens of thousands.
            rows={found.length === 0 ? [] : () => rowsOf(found, videoPrices, figures)}
            same={sameModels(isOperator, filters)}
          />
        }
        onChange={change}
      />
      {sources.some(({ asked }) => asked.error) && (
        <div className="border-b p-3">
          <Unanswered sources={sources} />
        </div>
      )}
      {nothing.error && (
        <div className="p-3">
          <ErrorNotice error={nothing.error} onRetry={() => void nothing.refetch()} />
        </div>
      )}
      {compared.length > 0 && (
        <Compare
          figures={figures}
          models={compared.flatMap((id) => all.find((model) => model.id === id) ?? [])}
          onRemove={toggle}
          onClear={() => change({ compare: undefined })}
        />
      )}
      {found.length === 0 ? (
        <Empty title={all.length === 0 ? 'No models yet' : 'No model is like that'}>
          {all.length === 0
            ? 'Set the key of a provider, e.g. OPENAI_API_KEY, and start again.'
            : 'Try fewer words or filters. A price or a context that is not known fits no bound.'}
        </Empty>
      ) : (
        <ModelTable
          models={found}
          figures={figures}
          videoPricesOf={videoPrices.videoPricesOf}
          open={open}
          compared={compared}
          onOpen={(id) => change({ open: id })}
          onCompare={toggle}
        />
      )}
      <Panel title={opened?.id ?? ''} isOpen={opened !== undefined} onClose={() => change({ open: undefined })}>
        {opened && <ModelDetails model={opened} />}
      </Panel>
    </>
  );
}

/** Models with their prices of videos, by the names of the API, and with what is measured of them. */
function rowsOf(
  models: readonly Model[],
  { videoPricesOf }: VideoPriceList,
  figures: ModelFigures | undefined,
): readonly object[] {
  return models.map((model) => ({
    ...model,
    pricing_skus: Object.fromEntries(videoPricesOf(model.id).map(({ name, usd }) => [name, usd])),
    ...(figures?.hasTimes && { first_byte_seconds: null, tokens_per_second: null, ...figures.statisticsOf(model.id) }),
    ...(figures && { price_changed_at: figures.changeOf(model.id)?.changed_at ?? null }),
  }));
}

/** Providers, and models that keep nothing, are filters of the API; the others are those of this page. */
function sameModels(isOperator: boolean, { provider, zdr, ...others }: ModelFilters): SameCall {
  const isWhole = Object.values(others).every((value) => value === undefined);
  if (!isOperator) {
    const note = isWhole && provider === undefined ? undefined : 'The call lists all models; filters are of this page.';
    return { path: '/v1/models', note };
  }
  return {
    path: pathWith('/admin/v1/models', { provider, zero_retention: zdr }),
    command: commandWith('polygate models', { '--provider': provider }),
    note: isWhole && zdr === undefined ? undefined : 'They have no other filters than these.',
  };
}
