/** Stored responses in Responses requests and answers: the ids that a request names, and items that are sent again. */

import { isObject, type Json, read, textOf } from '../../core/json/json.ts';
import { firstSpanAt } from '../../core/json/spans.ts';
import { unwrap, wrap } from '../../core/opaque.ts';
import type { HiddenState, ItemReference, StoredAccess } from '../../core/stored-access.ts';
import { isEmptyReasoning } from './continuation.ts';
import { STATE_INCLUDED } from './request-fields.ts';
import { EMPTY_STATE } from './state.ts';

export const stored: StoredAccess = {
  namedIn({ previous_response_id: previous, conversation: named, prompt_cache_options: cache, input }) {
    const comparison = cache?.comparison_response_id;
    const conversation = isObject(named) ? named.id : named;
    const references = referencesIn(input);
    const isNone = ![previous, comparison, conversation].some(isGiven) && references.length === 0;
    if (isNone) return undefined;
    return {
      ...(isGiven(previous) && { previous }),
      ...(isGiven(comparison) && { comparison }),
      ...(isGiven(conversation) && { conversation }),
      references,
    };
  },
  mayStore: ({ store }) => store !== false,
  inBackground: ({ background }) => background === true,
  itemMark: 'response.output_item.done',
  itemIn: ({ type, output_index: index, item }) =>
    type === 'response.output_item.done' && Number.isSafeInteger(index) && isObject(item) ? { index, item } : undefined,
  idIn(data) {
    const bytes = Buffer.from(data);
    const span = firstSpanAt(bytes, [['response', 'id']]);
    return span && textOf(read(bytes.subarray(span.start, span.end)));
  },
  eventPath: ['response'],
  storeMember: 'store',
  turnMember: 'conversation',
  previousMember: 'previous_response_id',
};

function isGiven(value: Json): boolean {
  return value !== undefined && value !== null;
}

function referencesIn(input: Json): ItemReference[] {
  if (!Array.isArray(input)) return [];
  return input.flatMap((item, index) => (isReference(item) ? { index, id: String(item.id) } : []));
}

/** The type of an item reference may be omitted. */
export function isReference(item: Json): boolean {
  if (!isObject(item)) return false;
  return item.type === 'item_reference' || (!isGiven(item.type) && !isGiven(item.role) && isGiven(item.id));
}

/** The input as items; a text is a message of the user. */
export function inputItems(input: Json): Json[] {
  if (Array.isArray(input)) return input;
  return typeof input === 'string'
    ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
    : [];
}

/** A copy of a request with another input, which continues `previous`, a response that the provider keeps, or none. */
export function withInput(body: Json, input: Json[], previous?: string): Json {
  const { previous_response_id: _previous, conversation: _conversation, ...rest } = body;
  const { comparison_response_id: _comparison, ...cache } = rest.prompt_cache_options ?? {};
  const root = previous !== undefined && { previous_response_id: previous };
  return { ...rest, input, ...root, ...(rest.prompt_cache_options && { prompt_cache_options: cache }) };
}

/** Ids that servers of other vendors accept in an input. */
const COMMON_ID = /^[a-z]{2,6}_[A-Za-z0-9_-]{1,57}$/;

/** Origin of an item. */
export interface ItemSource {
  /** Owner of opaque state. */
  origin: string;
  /** Whether the item is stored as its upstream sent it. */
  isRelayed: boolean;
}

/** An item of an output as input of another request. Its state is wrapped, so that only its origin gets it. */
export function asInput(item: Json, { origin }: ItemSource): Json {
  const again = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
  if (typeof again.id === 'string' && !COMMON_ID.test(again.id)) delete again.id;
  const state = textOf(again.encrypted_content);
  const isReasoning = again.type === 'reasoning';
  if (unwrap(state) || (state === undefined && !isReasoning)) return again;
  // Without state, the empty one tells where the reasoning belongs.
  return { ...again, encrypted_content: wrap({ kind: 'encrypted', value: state ?? '', origin }) };
}

/** Member of a stored item with state that no client sees. */
const HIDDEN = 'hidden_state';

/** The items of an output with the state that it does not show. */
export function withHidden(output: Json[], hidden: readonly HiddenState[]): Json[] {
  if (hidden.length === 0 || output.length === 0) return output;
  const items = output.map((item) => ({ ...item }));
  for (const { index, place, state } of hidden) {
    const item = items[Math.min(index, items.length - 1)];
    const { before = [], after = [], ...own } = item[HIDDEN] ?? {};
    if (place === 'own') own.own = state;
    else if (index < items.length) before.push(state);
    else after.push(state);
    item[HIDDEN] = { ...own, before, after };
  }
  return items;
}

/** A stored item as items of an input, with its hidden state in the form in which others get theirs. */
export function withoutHidden(item: Json): Json[] {
  const states = item?.[HIDDEN];
  if (!isObject(states)) return [item];
  const { own, before, after } = states;
  const shown = { ...shownItem(item), ...(own && { encrypted_content: own }) };
  return [...listOf(before).map(reasoningOf), shown, ...listOf(after).map(reasoningOf)];
}

function listOf(states: Json): Json[] {
  return Array.isArray(states) ? states : [];
}

function reasoningOf(state: Json): Json {
  return { type: 'reasoning', summary: [], encrypted_content: state };
}

/** A stored item without its hidden state. */
function shownItem(item: Json): Json {
  if (!isObject(item) || !(HIDDEN in item)) return item;
  const { [HIDDEN]: _state, ...shown } = item;
  return shown;
}

/** An item of a provider that keeps responses, but not this one. Reasoning without state gets the empty state, with which it is sent to no provider. */
export function forgotten(item: Json): Json {
  if (!isEmptyReasoning(item)) return item;
  return { ...item, encrypted_content: EMPTY_STATE };
}

/** First letters of ids by the type of their items. */
const ID_PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  compaction: 'cmp',
};

/** An input item as a list shows it: complete, and with an id. */
export function asListed(given: Json, newId: (prefix: string) => string): Json {
  const { encrypted_content: state, ...shown } = shownItem(given);
  const isHidden = state === undefined || (unwrap(state)?.value === '' && state !== EMPTY_STATE);
  const item = isHidden ? shown : { ...shown, encrypted_content: state };
  const type = textOf(item.type) ?? 'message';
  const id = textOf(item.id) ?? newId(itemPrefix(item));
  if (type !== 'message') return { ...item, id };
  const status = item.status ?? 'completed';
  return { ...item, id, type, status, content: contentParts(item) };
}

/** First letters of the id of an item that has none. */
export function itemPrefix(item: Json): string {
  const type = textOf(item.type) ?? 'message';
  return (Object.hasOwn(ID_PREFIXES, type) ? ID_PREFIXES[type] : undefined) ?? 'item';
}

function contentParts({ role, content }: Json): Json {
  if (typeof content !== 'string') return content ?? [];
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : [{ type: 'input_text', text: content }];
}

/** A copy of a stored response without hidden state, and without encrypted reasoning, unless the client asks for that. */
export function withoutState(response: Json, include: readonly string[]): Json {
  if (!Array.isArray(response.output)) return response;
  const output = response.output.map(shownItem);
  return { ...response, output: include.includes(STATE_INCLUDED) ? output : output.map(withoutWrappedState) };
}

function withoutWrappedState(item: Json): Json {
  if (item?.type !== 'reasoning' || !unwrap(item.encrypted_content)) return item;
  const { encrypted_content: _state, ...shown } = item;
  return shown;
}
