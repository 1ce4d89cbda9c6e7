/** Models that the gateway offers. */

import { queryOptions } from '@tanstack/react-query';
import { bodyOf, request } from '../../api.ts';

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
  queryKey: ['models'],
  staleTime: 60_000,
  queryFn: async () => {
    const response = await request('/v1/models');
    return (await bodyOf<{ data: Model[] }>(response.json().then((data) => ({ data })))).data;
  },
});

export const isKnown = (tokens: number | null): tokens is number => tokens !== null && tokens > 0;

export const providerOf = (model: Model): string => model.id.slice(0, model.id.indexOf('/'));
