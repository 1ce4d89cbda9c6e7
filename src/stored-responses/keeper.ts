/** Keeper of one answer: stores its content, or the account that keeps it. */

import { randomBytes } from 'node:crypto';
import { isObject, type Json, textOf } from '../core/json/json.ts';
import type { FinishedItem } from '../core/stored-access.ts';
import type { ResponseStatus, StoredName, StoredResponse } from '../records/stored-response.ts';
import type { AnswerKeeper, KeptAnswer } from '../routing/answer-keeper.ts';
import { encodeContent } from './content.ts';
import type { StoredContext } from './context.ts';
import { isStorableId } from './items.ts';

/** The request whose answer is stored. */
export interface KeptRequest {
  requestId: string;
  owner: string;
  /** Items of the request itself. */
  input: Json[];
  previous?: StoredResponse | undefined;
}

/** Time in which an answer is stored; the client waits for it. */
const STORE_TIMEOUT_MS = 5_000;
const STATUSES: readonly ResponseStatus[] = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'];

export function createKeeper(context: StoredContext, request: KeptRequest): AnswerKeeper {
  const { store, clock, log, onNotStored } = context;

  async function keep(answer: KeptAnswer): Promise<boolean> {
    try {
      await withTimeout(storeAnswer(context, request, answer));
      return true;
    } catch (error) {
      const { message: problem } = error as Error;
      log.warn({ request: request.requestId, problem }, 'a response could not be stored; the client is told so');
      onNotStored();
      return false;
    }
  }

  /** One that is stored too late is deleted: the client was told that it is not stored. */
  async function withTimeout(storing: Promise<StoredResponse | undefined>): Promise<void> {
    const { promise: late, resolve: onLate } = Promise.withResolvers<'late'>();
    const cancel = clock.after(STORE_TIMEOUT_MS, () => onLate('late'));
    const outcome = await Promise.race([storing, late]).finally(cancel);
    if (outcome !== 'late') return;
    storing
      .then((stored) => {
        if (!stored) return;
        const { owner, id } = stored;
        return store.call('deleteStoredResponse', { owner, id, now: clock.now() });
      })
      .catch(() => undefined);
    throw new Error('the store took too long');
  }

  return { keep };
}

/** Stores the answer; undefined if the upstream should keep it and tells the client that it does not. */
async function storeAnswer(
  { store, cipher, clock, settings }: StoredContext,
  { owner, input, previous }: KeptRequest,
  { response, firstId, finished, endpoint, origin, isRelayed }: KeptAnswer,
): Promise<StoredResponse | undefined> {
  const { keepMs, maxResponses, maxBytes } = settings();
  const isKeptUpstream = isRelayed && endpoint.dialect.keepsResponses === true;
  const { output, ...rest } = response;
  const id = response.id;
  if (!isStorableId(id)) throw new Error('the response has no id, or an endless one');
  if (isKeptUpstream && response.store === false) return undefined;
  const items = itemsOf(output, finished);
  const row = randomBytes(16).toString('hex');
  const now = clock.now();
  const content = isKeptUpstream
    ? { parts: [], items: 0, wholeBytes: 0 }
    : await encodeContent({ origin, isRelayed, input, output: items, response: rest }, cipher, { owner, row });
  const { parts, ...columns } = content;
  const stored: StoredResponse = {
    row,
    owner,
    id,
    status: statusOf(response),
    background: response.background === true,
    createdAt: now,
    expiresAt: now + keepMs,
    ...(previous && { previous: previous.row }),
    model: textOf(response.model) ?? endpoint.model.id,
    provider: endpoint.provider.id,
    ...(isKeptUpstream && { credential: endpoint.credential.id }),
    ...columns,
  };
  const names = [...responseNames(id, firstId), ...itemNames(items, finished)];
  await store.call('putStoredResponse', {
    response: stored,
    names,
    parts,
    limits: { responses: maxResponses, bytes: maxBytes },
  });
  return stored;
}

/** The output of the last event, which some servers leave empty. */
export function itemsOf(output: Json, finished: readonly FinishedItem[]): Json[] {
  const items: Json[] = Array.isArray(output) ? output.filter(isObject) : [];
  if (items.length > 0) return items;
  return finished.toSorted((one, other) => one.index - other.index).map(({ item }) => item);
}

export function statusOf({ status }: Json): ResponseStatus {
  return STATUSES.find((known) => known === status) ?? 'completed';
}

function responseNames(id: string, firstId: string | undefined): StoredName[] {
  const names = isStorableId(firstId) && firstId !== id ? [id, firstId] : [id];
  return names.map((name) => ({ kind: 'response', name, position: 0 }));
}

/** Ids in the last event and, where a server sends others, those of the finished items. */
export function itemNames(items: readonly Json[], finished: readonly FinishedItem[]): StoredName[] {
  const positions = new Map<string, number>();
  for (const { index, item } of finished)
    if (isStorableId(item.id) && index < items.length) positions.set(item.id, index);
  for (const [index, { id }] of items.entries()) if (isStorableId(id)) positions.set(id, index);
  return [...positions].map(([name, position]) => ({ kind: 'item', name, position }));
}
