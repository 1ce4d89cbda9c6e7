/** Requests that run: those of this process, and those that gateways have written into the store. */

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

interface OpenSearch {
  /** Of one key. */
  keyId?: string | undefined;
  /** Only the request with this id. */
  id?: string;
  limit: number;
}

/** Newest first. */
export async function openRequests(
  { store, recorder }: { store: Pick<Store, 'call'>; recorder: Pick<Recorder, 'open'> | undefined },
  { keyId, id, limit }: OpenSearch,
): Promise<OpenRequest[]> {
  const intents = await store.call('openIntents', { limit: MAX_INTENTS, ...(id !== undefined && { id }) });
  const stored = intents.map(({ record }): OpenRequest => JSON.parse(record));
  const own = (recorder?.open() ?? []).map(intentRow);
  const known = new Map([...stored, ...own].map((row) => [row.id, row]));
  return [...known.values()]
    .filter((row) => (keyId === undefined || row.key_id === keyId) && (id === undefined || row.id === id))
    .sort((one, other) => other.started_at - one.started_at || (one.id < other.id ? 1 : -1))
    .slice(0, limit);
}

const MAX_INTENTS = 1000;
