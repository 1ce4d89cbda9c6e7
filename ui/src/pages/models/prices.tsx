/** Prices of a model, each by its unit. Those of videos are in the list of video models. */

import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { Money, PerMillion } from '../../parts/numbers.tsx';
import type { Source } from '../../parts/unanswered.tsx';
import type { Model } from './query.ts';

/** Unit of one price, other than a token; empty where that is not known. Prices of tokens are shown for a million. */
export type Unit = 'request' | 'image' | 'search' | 'container' | 'second' | 'video' | '';

export interface NamedPrice {
  name: string;
  label: string;
  unit?: Unit;
}

/** Names of the prices in `pricing`. */
export const PRICES: NamedPrice[] = [
  { name: 'prompt', label: 'Input' },
  { name: 'input_cache_read', label: 'Cached input' },
  { name: 'input_cache_write', label: 'Written to the cache' },
  { name: 'input_cache_write_5m', label: 'Written for five minutes' },
  { name: 'input_cache_write_1h', label: 'Written for an hour' },
  { name: 'completion', label: 'Output' },
  { name: 'internal_reasoning', label: 'Reasoning' },
  { name: 'image_token', label: 'Image input' },
  { name: 'image', label: 'Image', unit: 'image' },
  { name: 'image_output', label: 'Image output' },
  { name: 'image_tool_input', label: 'Image tool input' },
  { name: 'image_tool_output', label: 'Image tool output' },
  { name: 'audio', label: 'Audio input' },
  { name: 'input_audio_cache', label: 'Cached audio input' },
  { name: 'audio_output', label: 'Audio output' },
  { name: 'request', label: 'Request', unit: 'request' },
  { name: 'web_search', label: 'Web search', unit: 'search' },
  { name: 'web_search_request', label: 'Request that searches', unit: 'request' },
  { name: 'file_search', label: 'Search in files', unit: 'search' },
  { name: 'container', label: 'Container, or gigabyte of it', unit: 'container' },
  { name: 'maps_request', label: 'Request with places of a map', unit: 'request' },
];

type VideoPrices = Partial<Record<string, string>>;

const videoPrices = queryOptions({
  queryKey: ['models', 'prices of videos'],
  staleTime: 60_000,
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, VideoPrices | null>> => {
    const { data } = await bodyOf<{ data: { id: string; pricing_skus: VideoPrices | null }[] }>(
      api.GET('/v1/videos/models', { signal }),
    );
    return new Map(data.map(({ id, pricing_skus: prices }) => [id, prices]));
  },
});

export interface ShownPrice extends NamedPrice {
  usd: string;
}

export interface VideoPriceList {
  videoPricesOf(id: string): ShownPrice[];
  source: Source;
}

export function useVideoPrices(): VideoPriceList {
  const asked = useQuery(videoPrices);
  return {
    videoPricesOf: (id) =>
      Object.entries(asked.data?.get(id) ?? {}).flatMap(([name, usd]) =>
        usd === undefined ? [] : [{ ...videoPriceOf(name), usd }],
      ),
    source: { name: 'Prices of videos', asked },
  };
}

/** E.g. `per-video-second-1080p-audio`. A name that is not known is its own label. */
function videoPriceOf(name: string): NamedPrice {
  const found = /^per-video(-second|-token)?(?:-(\d+[pk]))?(-audio)?$/.exec(name);
  if (!found) return { name, label: name, unit: '' };
  const [, of, resolution, audio] = found;
  const label = ['Video', ...(resolution ? [`in ${resolution}`] : []), ...(audio ? ['with audio'] : [])].join(' ');
  if (of === '-token') return { name, label };
  return { name, label, unit: of === '-second' ? 'second' : 'video' };
}

/** Whether it makes videos and nothing else, and so is asked by tasks. */
export const isVideoModel = ({ architecture: { output_modalities: outputs } }: Pick<Model, 'architecture'>): boolean =>
  outputs.length > 0 && outputs.every((kind) => kind === 'video');

/** The prices in `pricing`, without the token prices of 0 that every video model has there. */
export function pricesOf(model: Model): ShownPrice[] {
  const isVideo = isVideoModel(model);
  return PRICES.flatMap((price) => {
    const usd = model.pricing[price.name];
    return usd === undefined || (isVideo && Number(usd) <= 0) ? [] : [{ ...price, usd }];
  });
}

export function Price({ usd, unit }: { usd: string | undefined; unit?: Unit | undefined }) {
  if (unit === undefined || usd === undefined || Number(usd) < 0) return <PerMillion perToken={usd} />;
  return <Money usd={usd} />;
}

/** In a cell of the list: the lowest by the second, else by the video. */
export function VideoPrice({ prices }: { prices: readonly ShownPrice[] }) {
  const unit = (['second', 'video'] as const).find((one) => prices.some((price) => price.unit === one));
  const [lowest, ...others] = prices
    .filter((price) => price.unit === unit)
    .toSorted((one, other) => Number(one.usd) - Number(other.usd));
  if (!lowest) return <span className="text-dim">unknown</span>;
  return (
    <>
      {others.some(({ usd }) => Number(usd) !== Number(lowest.usd)) && <span className="text-dim">from </span>}
      <Price usd={lowest.usd} unit={unit} />
      <span className="text-dim"> a {unit === undefined ? 'million tokens' : unit}</span>
    </>
  );
}
