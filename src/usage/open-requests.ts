/** Requests that run: those of this process, and those that gateways have written into the store. */

import type { IntentFilter, RequestFilter } from '../store/operations/requests.ts';
import type { Store } from '../store/store.ts';
import type { UsageRow } from '../store/usage-row.ts';
import { intentRow } from './record.ts';
import type { Recorder } from './recorder.ts';

export type OpenRequest = Pick<
  UsageRow,
  | 'id'
  | 'started_at'
  | 'key_id'
  | 'tags'
  | 'model'
  | 'endpoint_provider'
  | 'endpoint_model'
  | 'protocol_in'
  | 'protocol_out'
  | 'stream'
>;

export interface OpenSources {
  store: Pick<Store, 'call'>;
  /** Absent beside a running gateway. */
  recorder: Pick<Recorder, 'open' | 'instance'> | undefined;
  /** Number of requests that run in all processes of the gateway, where others have some too. */
  countRunning?: ((filter: IntentFilter) => Promise<number>) | undefined;
}

interface OpenSearch {
  filter: IntentFilter;
  /** Only the request with this id. */
  id?: string;
  limit: number;
}

/** Newest first. */
export async function openRequests(
  { store, recorder }: Pick<OpenSources, 'store' | 'recorder'>,
  { filter, id, limit }: OpenSearch,
): Promise<OpenRequest[]> {
  const intents = await store.call('openIntents', { filter, limit, ...(id !== undefined && { id }) });
  const stored = intents.map(({ record }): OpenRequest => JSON.parse(record));
  const own = ownRequests(recorder, filter).filter((row) => id === undefined || row.id === id);
  const known = new Map([...stored, ...own].map((row) => [row.id, row]));
  return [...known.values()]
    .sort((one, other) => other.started_at - one.started_at || (one.id < other.id ? 1 : -1))
    .slice(0, limit);
}

/** All of them, however many; those of other gateways as of a second ago. */
export async function countOpenRequests(
  { store, recorder, countRunning }: OpenSources,
  filter: IntentFilter,
): Promise<number> {
  const [stored, running] = await Promise.all([
    store.call('countIntents', { filter, except: recorder?.instance ?? '' }),
    countRunning ? countRunning(filter) : ownRequests(recorder, filter).length,
  ]);
  return stored + running;
}

/** Open requests of this process. */
export function ownRequests(recorder: Pick<Recorder, 'open'> | undefined, filter: IntentFilter): OpenRequest[] {
  return (recorder?.open() ?? []).map(intentRow).filter((row) => matches(row, filter));
}

function matches(row: OpenRequest, filter: IntentFilter): boolean {
  const values: Record<keyof IntentFilter, (wanted: string) => boolean> = {
    keyId: (wanted) => row.key_id === wanted,
    model: (wanted) => `${row.endpoint_provider}/${row.endpoint_model}` === wanted,
    requested: (wanted) => row.model === wanted,
    provider: (wanted) => row.endpoint_provider === wanted,
    protocol: (wanted) => row.protocol_in === wanted,
    upstreamProtocol: (wanted) => row.protocol_out === wanted,
    tag: (wanted) => (row.tags ?? '').split(' ').includes(wanted),
  };
  return Object.entries(filter).every(
    ([name, wanted]) => wanted === undefined || values[name as keyof IntentFilter](wanted),
  );
}

/** The part of a filter that can be asked of requests that run, and the names of the rest. */
export function intentFilterOf(filter: RequestFilter): { filter: IntentFilter; others: (keyof RequestFilter)[] } {
  const { keyId, model, requested, provider, protocol, upstreamProtocol, tag, ...rest } = filter;
  const known = { keyId, model, requested, provider, protocol, upstreamProtocol, tag };
  const set = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return { filter: set, others: Object.keys(rest) as (keyof RequestFilter)[] };
}
