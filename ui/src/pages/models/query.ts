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
  staleTime: 60_000,
  queryFn: async () => {
    const response = await request('/v1/models');
    return (await bodyOf<{ data: Model[] }>(response.json().then((data) => ({ data })))).data;
  },
});

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
    statistics: { first_byte_seconds: number; tokens_per_second: number | null } | null;
  }[];
  aliases: string[];
  configured: ConfiguredLine[];
  /** Keys that used its endpoints in the last 30 days. */
  users: { key: string; key_name: string | null; requests: number; cost: string | null }[];
  users_total: number;
}

export const modelDetail = (id: string) =>
  queryOptions({
    queryKey: ['models', 'detail', id],
    queryFn: async () => {
      const params = { query: { id } };
      return (await bodyOf<{ data: ModelDetail[] }>(api.GET('/admin/v1/models', { params }))).data[0] ?? null;
    },
  });

/** Largest page of the list. */
const PAGE = 1000;

/** Ids of models with an endpoint that is configured as keeping nothing, for operators. */
export const keepingNothing = queryOptions({
  queryKey: ['models', 'zero retention'],
  queryFn: async () => {
    const params = { query: { zero_retention: true, limit: PAGE } };
    const { data } = await bodyOf<{ data: { id: string }[] }>(api.GET('/admin/v1/models', { params }));
    return new Set(data.map(({ id }) => id));
  },
});
