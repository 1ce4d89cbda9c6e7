/** Resolution of references in a request: to items of its input, or to the account that keeps them. */

import { isStorableId } from '../core/answer-id.ts';
import type { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { ItemReference, NamedResponses } from '../core/stored-access.ts';
import { withoutHidden } from '../protocols/responses/stored.ts';
import type { StoredResponse } from '../records/stored-response.ts';
import type { AccountPin } from '../routing/account-pin.ts';
import { joinedInput, readChain } from './chain.ts';
import { limitsOf, type StoredContext } from './context.ts';
import { checkNewItems, type ReadTurn } from './conversation-turn.ts';
import { inConversation, keptElsewhere, tooLong, unknownItem, unknownPrevious } from './errors.ts';
import { createItemSearch, type LocatedItem, type Reader } from './items.ts';

export interface ResolvedRequest {
  /** The whole input; absent if the request is sent as it is. */
  input?: Json[];
  /** Id of the response, kept by its provider, that the input continues. */
  root?: string | undefined;
  pin?: AccountPin | undefined;
  /** Response that the request continues. */
  previous?: StoredResponse | undefined;
  /** Items of the request itself, with references replaced by their items. */
  own: Json[];
}

interface NamingRequest extends Reader {
  named: NamedResponses;
  /** Items of the request itself. */
  input: Json[];
  /** Items of its conversation, if it belongs to one. */
  turn?: ReadTurn | undefined;
}

/** Throws `previous_response_not_found`, `item_not_found`, `invalid_request` and `context_length_exceeded`. */
export async function resolveNames(context: StoredContext, request: NamingRequest): Promise<ResolvedRequest> {
  const { named, turn } = request;
  const before = named.previous === undefined ? {} : await readPrevious(context, request, named.previous);
  if (turn) checkNewItems(request.input, turn.ids, 'input');
  const own = await resolveReferences(context, request, before.pin);
  const pin = named.comparison === undefined ? own.pin : await pinComparison(context, request, own.pin);
  const items = turn?.items ?? before.items;
  const isRewritten = items !== undefined || own.isRewritten;
  return {
    ...(isRewritten && { input: [...(items ?? []), ...own.input].flatMap(withoutHidden), root: before.root }),
    pin,
    previous: before.newest,
    own: own.input,
  };
}

interface Previous {
  newest?: StoredResponse;
  /** All items of the chain that the gateway has; absent if its provider keeps them. */
  items?: Json[];
  /** Id of the response before these, if its provider keeps it. */
  root?: string;
  pin?: AccountPin;
}

async function readPrevious(context: StoredContext, reader: Reader, id: string): Promise<Previous> {
  const unknown = unknownPrevious(id);
  const errors = { unknown, tooLong: tooLong('previous_response_id', limitsOf(context)) };
  const { newest, links, root } = await readChain(context, reader, { id, errors });
  if (links) {
    // One that runs has no output yet.
    if (newest.status === 'queued' || newest.status === 'in_progress') throw unknown;
    if (links.some(({ content }) => (content.response.conversation ?? undefined) !== undefined))
      throw inConversation(unknown);
    const items = await joinedInput(context, reader, { links, errors });
    return { newest, items, ...(root && { root: root.id, pin: pinTo(root, unknown) }) };
  }
  return { newest, pin: pinTo(newest, unknown) };
}

interface ResolvedInput {
  input: Json[];
  isRewritten: boolean;
  pin: AccountPin | undefined;
}

async function resolveReferences(
  context: StoredContext,
  request: NamingRequest,
  before: AccountPin | undefined,
): Promise<ResolvedInput> {
  const { references } = request.named;
  const found = await findReferences(context, request, references);
  const limits = limitsOf(context);
  const input = [...request.input];
  let pin = before;
  let isRewritten = false;
  let bytes = 0;
  for (const { index, id } of references) {
    const located = found.get(id);
    if (!located) throw unknownItem(id, `input[${index}].id`);
    if ('item' in located) {
      input[index] = located.item;
      isRewritten = true;
      bytes += located.bytes;
      // An item may be referred to many times.
      if (bytes > limits.maxBytes) throw tooLong(`input[${index}]`, limits);
    } else if (request.turn) throw keptElsewhere(unknownItem(id, `input[${index}].id`), located.provider);
    else pin = joinPins(pin, pinTo(located, unknownItem(id, `input[${index}].id`)));
  }
  return { input, isRewritten, pin };
}

async function findReferences(
  context: StoredContext,
  reader: Reader,
  references: readonly ItemReference[],
): Promise<ReadonlyMap<string, LocatedItem>> {
  const [first] = references;
  if (!first) return new Map();
  const found = await createItemSearch(context, reader)(references.map(({ id }) => id));
  if (found === 'too-long') throw tooLong(`input[${first.index}]`, limitsOf(context));
  return found;
}

/** Only an account that keeps a response can compare with it. */
async function pinComparison(
  { store, clock }: StoredContext,
  { owner, named: { comparison: id = '' } }: NamingRequest,
  pin: AccountPin | undefined,
): Promise<AccountPin> {
  const error = unknownPrevious(id, 'prompt_cache_options.comparison_response_id');
  const found = isStorableId(id) ? await store.call('findStoredResponse', { owner, id, now: clock.now() }) : undefined;
  if (!found) throw error;
  return joinPins(pin, pinTo(found, error));
}

/** Throws the error for a reference that no account keeps. */
function pinTo({ provider, credential }: { provider: string; credential?: string }, error: GatewayError): AccountPin {
  if (credential === undefined) throw error;
  return { provider, credential, error: keptElsewhere(error, provider) };
}

/** Throws if one account keeps neither all nor nothing. */
function joinPins(one: AccountPin | undefined, other: AccountPin): AccountPin {
  if (one && (one.provider !== other.provider || one.credential !== other.credential)) throw other.error;
  return other;
}
