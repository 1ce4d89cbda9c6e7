/** Models that the gateway offers. */

import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, request } from '../../api.ts';

export interface Model {
  id: string;
  name: string;
  description: string;
  owned_by: string;
  created: number;
  /** Tokens; 0 where it is not known, as in all counts of a model. */
  context_length: number | null;
  architecture: { input_modalities: string[]; output_modalities: string[] };
  pricing: Partial<Record<string, string>>;
  top_provider: { max_completion_tokens: number | null };
  supported_parameters: string[];
}

export const modelList = queryOptions({
  queryKey: ['models', 'list'],
  // A comparison of all values blocks the page for longer than it takes to draw what is in view.
  structuralSharing: false,
  staleTime: 60_000,
  queryFn: ({ signal }) => listed<Model>('/v1/models', signal),
});

/** Ids and names of the models, where nothing else of them is shown. */
export const modelNames = queryOptions({
  queryKey: ['models', 'names'],
  staleTime: 60_000,
  queryFn: ({ signal }) => listed<Pick<Model, 'id' | 'name'>>('/v1/models?view=names', signal),
});

/** Characters that are parsed at once. */
const SLICE_CHARACTERS = 500_000;
/** Stands between two models alone: quotes in a text are escaped. */
const BETWEEN = '},{"id":';

/** In slices, between which the page does other things: the text of tens of thousands of models has many megabytes. */
async function listed<Listed>(path: string, signal: AbortSignal): Promise<Listed[]> {
  const text = await (await request(path, { signal })).text();
  const models: Listed[] = [];
  for (let begin = 0, end = 0; end < text.length; begin = end + 1) {
    const cut = text.indexOf(BETWEEN, begin + SLICE_CHARACTERS);
    end = cut < 0 ? text.length : cut + 1;
    const slice = (begin === 0 ? '' : '{"data":[') + text.slice(begin, end) + (cut < 0 ? '' : ']}');
    models.push(...JSON.parse(slice).data);
    if (cut >= 0) await nextTask();
  }
  return models;
}

/** Not a timer, which waits for a second in a tab that nobody looks at. */
function nextTask(): Promise<unknown> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(undefined);
  }).finally(() => port1.close());
}

export const isKnown = (tokens: number | null): tokens is number => tokens !== null && tokens > 0;

export const providerOf = (model: Model): string => model.id.slice(0, model.id.indexOf('/'));

export interface ConfiguredLine {
  path: string;
  value: string | number | boolean | null;
  source: { from: string; line?: number };
}

/** A model as operators see it. */
export interface ModelDetail {
  id: string;
  endpoints: {
    endpoint: string;
    priority: number;
    /** Null where the configuration does not say. */
    zero_retention: boolean | null;
    /** Medians of the last five minutes; null without a request in them. */
    statistics: ModelStatistics | null;
  }[];
  aliases: string[];
  configured: ConfiguredLine[];
  /** Keys that used its endpoints in the last 30 days, whose ends are whole hours. */
  users: { key: string; key_name: string | null; requests: number; cost: string | null }[];
  users_total: number;
  users_from: string;
  users_to: string;
}

export const modelDetail = (id: string) =>
  queryOptions({
    queryKey: ['models', 'detail', id],
    queryFn: async ({ signal }) => {
      const params = { query: { id } };
      return (await bodyOf<{ data: ModelDetail[] }>(api.GET('/admin/v1/models', { params, signal }))).data[0] ?? null;
    },
  });

/** Times of a model that this gateway measured in the last five minutes. */
export interface ModelStatistics {
  first_byte_seconds: number;
  tokens_per_second: number | null;
}

const LOOK_EVERY_MS = 15_000;

/** By id, of the models that were used; for operators. */
export const modelStatistics = queryOptions({
  queryKey: ['models', 'statistics'],
  refetchInterval: LOOK_EVERY_MS,
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, ModelStatistics>> => {
    const { data } = await bodyOf<{ data: (ModelStatistics & { id: string })[] }>(
      api.GET('/admin/v1/models/statistics', { signal }),
    );
    return new Map(data.map(({ id, ...figures }) => [id, figures]));
  },
});

interface Prices {
  pricing: Partial<Record<string, string>>;
}

export interface PriceChange {
  changed_at: string;
  before: Prices;
  after: Prices;
}

export interface PriceChanges {
  /** The last change of each model that had one. */
  changes: ReadonlyMap<string, PriceChange>;
  /** Since when the gateway remembers prices. */
  since: string | null;
}

/** For the holder of a key those of its models. */
export const priceChanges = (isOperator: boolean) =>
  queryOptions({
    queryKey: ['models', 'price changes', isOperator],
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<PriceChanges> => {
      const { data, since } = await bodyOf<{ data: (PriceChange & { id: string })[]; since: string | null }>(
        isOperator
          ? api.GET('/admin/v1/models/price-changes', { signal })
          : api.GET('/v1/self/models/price-changes', { signal }),
      );
      return { changes: new Map(data.map(({ id, ...change }) => [id, change])), since };
    },
  });

/** Largest page of the list. */
const PAGE = 1000;

/** Ids of models with an endpoint that is configured as keeping nothing, for operators. */
export const keepingNothing = queryOptions({
  queryKey: ['models', 'zero retention'],
  queryFn: async ({ signal }) => {
    const ids = new Set<string>();
    let after: string | undefined;
    do {
      const params = { query: { zero_retention: true, limit: PAGE, ...(after !== undefined && { after }) } };
      const page = await bodyOf<{ data: { id: string }[]; next: string | null }>(
        api.GET('/admin/v1/models', { params, signal }),
      );
      for (const { id } of page.data) ids.add(id);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return ids;
  },
});
