/** Keeper of one answer: stores its content, or the account that keeps it. */

import { isStorableId } from '../core/answer-id.ts';
import { isObject, type Json, textOf } from '../core/json/json.ts';
import { newTimeOrderedId } from '../core/request-id.ts';
import type { FinishedItem } from '../core/stored-access.ts';
import { forgotten, withHidden } from '../protocols/responses/stored.ts';
import type { ResponseStatus, StoredName, StoredResponse } from '../records/stored-response.ts';
import type { AnswerKeeper, KeptAnswer } from '../routing/answer-keeper.ts';
import type { Appended } from '../store/conversation-rows.ts';
import type { NewStoredResponse } from '../store/stored-rows.ts';
import { encodeContent } from './content.ts';
import type { StoredContext } from './context.ts';
import { appendedBy } from './conversation-turn.ts';

/** The request whose answer is stored. */
export interface KeptRequest {
  requestId: string;
  owner: string;
  /** Items of the request itself. */
  input: Json[];
  previous?: StoredResponse | undefined;
  /** Id of the response that it continues, as the client named it. */
  previousId?: string | undefined;
  /** False if the answer is stored only as items of its conversation. */
  isStored: boolean;
}

/** Rows that were written; they are deleted if they came too late. */
interface Written {
  owner: string;
  /** Id of the response. */
  id?: string;
  appended?: Appended | undefined;
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

  /** Deletes a response that is stored too late: its client was told that it is not stored. */
  async function withTimeout(storing: Promise<Written>): Promise<void> {
    const { promise: late, resolve: onLate } = Promise.withResolvers<'late'>();
    const cancel = clock.after(STORE_TIMEOUT_MS, () => onLate('late'));
    const outcome = await Promise.race([storing, late]).finally(cancel);
    if (outcome !== 'late') return;
    storing.then(remove).catch(() => undefined);
    throw new Error('the store took too long');
  }

  async function remove({ owner, id, appended }: Written): Promise<void> {
    if (id !== undefined) await store.call('deleteStoredResponse', { owner, id, now: clock.now() });
    if (!appended) return;
    const rows = appended.items.map(({ row }) => row);
    await store.call('deleteAppended', { owner, id: appended.conversation, rows });
  }

  return { keep, isStored: request.isStored };
}

/** Writes the response and the items that it appends to its conversation, in one transaction. */
async function storeAnswer(context: StoredContext, request: KeptRequest, answer: KeptAnswer): Promise<Written> {
  const { store, settings } = context;
  const { owner } = request;
  const { response, endpoint, isRelayed } = answer;
  const { maxResponses, maxBytes } = settings();
  const limits = { responses: maxResponses, bytes: maxBytes };
  const isKeptUpstream = isRelayed && endpoint.dialect.keepsResponses === true;
  // An upstream that should keep the response may say that it does not.
  const isForgotten = isKeptUpstream && response.store === false;
  const items = withHidden(itemsOf(response.output, answer.finished), answer.hidden);
  const output = isForgotten ? items.map(forgotten) : items;
  const appended =
    answer.turn &&
    (await appendedBy(context, answer.turn, { owner, status: statusOf(response), output, source: answer }));
  if (!request.isStored || isForgotten) {
    if (appended) await store.call('appendTurn', { owner, appended, limits });
    return { owner, appended };
  }
  const added = await encodeAnswer(context, request, { answer, items, isKeptUpstream });
  await store.call('putStoredResponse', { ...added, limits, appended });
  return { owner, id: added.response.id, appended };
}

async function encodeAnswer(
  { cipher, clock, settings }: StoredContext,
  { owner, input, previous, previousId }: KeptRequest,
  { answer, items, isKeptUpstream }: { answer: KeptAnswer; items: Json[]; isKeptUpstream: boolean },
): Promise<NewStoredResponse> {
  const { response, firstId, finished, endpoint, origin, isRelayed, turn } = answer;
  const { output: _output, ...rest } = response;
  const id = response.id;
  if (!isStorableId(id)) throw new Error('the response has no id, or an endless one');
  const now = clock.now();
  const row = newTimeOrderedId(now);
  const shown = {
    ...rest,
    ...(turn && { conversation: { id: turn.id } }),
    ...(previousId !== undefined && { previous_response_id: previousId }),
  };
  const content = isKeptUpstream
    ? { parts: [], items: 0, wholeBytes: 0 }
    : await encodeContent({ origin, isRelayed, input, output: items, response: shown }, cipher, { owner, row });
  const { parts, ...columns } = content;
  const stored: StoredResponse = {
    row,
    owner,
    id,
    status: statusOf(response),
    background: response.background === true,
    createdAt: now,
    expiresAt: now + settings().keepMs,
    ...(previous && { previous: previous.row }),
    model: textOf(response.model) ?? endpoint.model.id,
    provider: endpoint.provider.id,
    ...(isKeptUpstream && { credential: endpoint.credential.id }),
    ...columns,
  };
  return { response: stored, names: [...responseNames(id, firstId), ...itemNames(items, finished)], parts };
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
