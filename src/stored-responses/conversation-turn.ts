/** Turns of stored conversations: one response at a time holds a conversation, reads its items, and appends its own. */

import { randomBytes } from 'node:crypto';
import { isStorableId } from '../core/answer-id.ts';
import { sleep } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { ItemSource } from '../protocols/responses/stored.ts';
import type { ConversationTurn } from '../routing/conversation-turn.ts';
import type { Appended } from '../store/conversation-rows.ts';
import { limitsOf, readReserved, readWhole, type StoredContext } from './context.ts';
import { asSent, decodeItems, encodeItems, givenId } from './conversation-content.ts';
import { changingConversation, duplicateItem, lockedConversation, tooLong, unknownConversation } from './errors.ts';
import type { Reader } from './items.ts';

/** Time that a response waits for the one before it. */
const WAIT_MS = 5_000;
const POLL_INTERVAL_MS = 100;
/** A turn whose gateway was killed holds its conversation for so long. */
const LEASE_MS = 30_000;
const RENEWAL_INTERVAL_MS = 5_000;

export interface TurnReader extends Reader {
  /** Called with the release of the conversation, for the end of the request. */
  onEnd(release: () => void): void;
}

/** A turn whose input is not known yet. */
export type OpenTurn = ConversationTurn & { input: readonly Json[] };

export interface ReadTurn {
  /** Items of the conversation as input. */
  items: Json[];
  ids: ReadonlySet<string>;
}

/** Waits until no other response holds the conversation. Throws `conversation_not_found` and `conversation_locked`. */
export async function openTurn(
  context: StoredContext,
  { owner, onEnd }: Pick<TurnReader, 'owner' | 'onEnd'>,
  id: string,
): Promise<OpenTurn> {
  const { store, clock, settings } = context;
  if (!isStorableId(id)) throw unknownConversation(id);
  const holder = randomBytes(16).toString('hex');
  for (let waited = 0; ; waited += POLL_INTERVAL_MS) {
    const now = clock.now();
    const held = await store.call('holdConversation', {
      owner,
      id,
      now,
      holder,
      until: now + LEASE_MS,
      expiresAt: now + settings().keepMs,
    });
    if (held === undefined) throw unknownConversation(id);
    if (held === 'held') break;
    if (waited >= WAIT_MS) throw lockedConversation();
    await sleep(clock, POLL_INTERVAL_MS);
  }
  const turn = createTurn(context, { id, holder });
  onEnd(turn.close);
  return turn;
}

function createTurn({ store, clock }: StoredContext, { id, holder }: { id: string; holder: string }): OpenTurn {
  let isOpen = true;
  let cancel = renewLater();

  function renewLater(): () => void {
    return clock.after(RENEWAL_INTERVAL_MS, renew, { background: true });
  }

  function renew(): void {
    store
      .call('renewConversationHold', { id, holder, until: clock.now() + LEASE_MS })
      .catch(() => true)
      .then((isHeld) => {
        if (isOpen && isHeld) cancel = renewLater();
      });
  }

  function release(): void {
    isOpen = false;
    cancel();
    // Where it fails, the lease ends.
    store.call('releaseConversation', { id, holder }).catch(() => undefined);
  }

  const turn: OpenTurn = {
    id,
    holder,
    input: [],
    isLost: false,
    keeping: undefined,
    close() {
      const { keeping } = turn;
      if (!keeping) return release();
      // Meanwhile another may have taken its place.
      const next = () => (turn.keeping === keeping ? release() : turn.close());
      keeping.then(next, next);
    },
  };
  return turn;
}

/** Items of a conversation for the input of a request. Throws `conversation_not_found` and `context_length_exceeded`. */
export async function readTurn(context: StoredContext, { owner, reserve }: Reader, id: string): Promise<ReadTurn> {
  const { store, cipher, clock } = context;
  const limits = limitsOf(context);
  const named = { owner, id, now: clock.now() };
  if (!isStorableId(id)) throw unknownConversation(id);
  const items = await readWhole(reserve, async (more) => {
    const found = await readReserved(
      (room) => store.call('readWholeConversation', { ...named, ...limits, room }),
      more,
      (whole) => (whole && whole !== 'too-long' ? whole.conversation.wholeBytes : 0),
    );
    if (!found) throw unknownConversation(id);
    if (found === 'too-long') throw tooLong('conversation', limits);
    return decodeItems(owner, found, cipher);
  });
  if (!items) throw changingConversation();
  return { items: items.map(asSent), ids: new Set(items.map((item) => item.id)) };
}

/** Throws `invalid_request` for an item that the conversation has already, or that is there twice. */
export function checkNewItems(items: readonly Json[], known: ReadonlySet<string>, path: string): void {
  const ids = new Set(known);
  for (const [index, item] of items.entries()) {
    const id = givenId(item);
    if (id === undefined) continue;
    if (ids.has(id)) throw duplicateItem(id, `${path}[${index}].id`);
    ids.add(id);
  }
}

/** An answer at its end. */
export interface EndedTurn {
  owner: string;
  status: string;
  output: readonly Json[];
  source: ItemSource;
}

/** The items that an answer appends to its conversation; undefined for an answer that did not end. Throws `payload_too_large`. */
export async function appendedBy(
  context: Pick<StoredContext, 'cipher' | 'clock' | 'settings'>,
  { id, holder, input }: ConversationTurn,
  { owner, status, output, source }: EndedTurn,
): Promise<Appended | undefined> {
  if (status !== 'completed' && status !== 'incomplete') return undefined;
  const { origin, isRelayed } = source;
  const made = output.map((item) => ({ item, source: { origin, isRelayed } }));
  const given = [...input.map((item) => ({ item })), ...made];
  const { keepMs, maxChainItems } = context.settings();
  if (given.length > maxChainItems)
    throw new GatewayError('payload_too_large', `More than ${maxChainItems} items are not appended.`);
  const now = context.clock.now();
  const encoded = await encodeItems(given, context, owner);
  return { ...encoded, conversation: id, changedAt: now, expiresAt: now + keepMs, holder };
}
