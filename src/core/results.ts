/** Tool results of a conversation: each result belongs to a call of the preceding assistant turn, and each call has one result. */

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { CallPart, Part, ResultPart, Turn } from './chat.ts';
import { GatewayError } from './errors.ts';
import { isObject, type Json } from './json/json.ts';

interface Settled {
  turns: Turn[];
  /** Hub names of dropped parts: a second, different result of a call. */
  dropped: string[];
}

/** Runs of assistant turns and of all others, alternating: the results of the calls of a run belong into the next one. */
export function turnRuns(turns: readonly Turn[]): Turn[][] {
  const runs: Turn[][] = [];
  for (const turn of turns) {
    const last = runs.at(-1);
    if (last && (last[0]?.role === 'assistant') === (turn.role === 'assistant')) last.push(turn);
    else runs.push([turn]);
  }
  return runs;
}

/** Calls of the last assistant turns that the client gave one id. */
interface CallGroup {
  /** Ids of their own, in the order of the calls. */
  ids: string[];
  /** Results received, in the order of the calls. */
  results: ResultPart[];
  /** Number of results received, with those that repeat one. */
  received: number;
}

/**
 * Gives calls of one run with the same id ids of their own, and each its result, in order. Removes repeated results; of two
 * different results of a call the later one counts. Throws `invalid_request` for a result without its call, unless the turns
 * are only `counted`: then its content replaces it.
 */
export function settleResults(turns: readonly Turn[], { counted }: { counted: boolean }): Settled {
  const dropped = new Set<string>();
  /** Calls of the last assistant turns by the client's id. */
  let open = createCallGroups();
  const earlier = new Map<string, CallGroup>();
  let asks = false;

  function repeats(known: ResultPart, again: ResultPart): void {
    if (!isDeepStrictEqual(known.parts, again.parts)) dropped.add('turns.parts.result');
  }

  function settle(result: ResultPart): Part[] {
    const { callId } = result;
    const group = open.byId.get(callId);
    if (group) {
      const place = group.received++ % group.ids.length;
      const own = { ...result, callId: group.ids[place] ?? callId };
      const present = group.results[place];
      if (!present) {
        group.results.push(own);
        return [own];
      }
      repeats(present, own);
      // One that failed is followed by one that did not.
      delete present.isError;
      Object.assign(present, own);
      return [];
    }
    const before = earlier.get(callId)?.results[0];
    if (before) {
      repeats(before, result);
      return [];
    }
    if (counted) return result.parts;
    throw misplaced(result, earlier.has(callId));
  }

  const settled = turns.map((turn): Turn => {
    if (turn.role !== 'assistant') {
      asks = false;
      return { ...turn, parts: turn.parts.flatMap((part) => (part.type === 'result' ? settle(part) : [part])) };
    }
    if (!asks) {
      for (const [id, group] of open.byId) earlier.set(id, group);
      open = createCallGroups();
    }
    asks = true;
    return open.withOwnIds(turn);
  });
  return { turns: settled.filter(({ parts }) => parts.length > 0), dropped: [...dropped] };
}

/** Gives each call an id of its own: the given one, or one with a number behind it. */
export function createCallIds(): (id: string) => string {
  const used = new Set<string>();
  /** The next suffix of an id. */
  const counts = new Map<string, number>();
  return (id) => {
    let unique = id;
    let count = counts.get(id) ?? 2;
    for (; used.has(unique); count++) unique = `${id}_${count}`;
    counts.set(id, count);
    used.add(unique);
    return unique;
  };
}

/** The calls of a run of assistant turns. */
function createCallGroups() {
  const byId = new Map<string, CallGroup>();
  const uniqueId = createCallIds();

  function withOwnId(call: CallPart): CallPart {
    const id = uniqueId(call.id);
    const group = byId.get(call.id);
    if (group) group.ids.push(id);
    else byId.set(call.id, { ids: [id], results: [], received: 0 });
    return id === call.id ? call : { ...call, id };
  }

  return {
    byId,
    /** The turn with ids of their own for its calls. */
    withOwnIds: (turn: Turn): Turn => ({
      ...turn,
      parts: turn.parts.map((part) => (part.type === 'call' ? withOwnId(part) : part)),
    }),
  };
}

function misplaced({ callId, name }: ResultPart, isLate: boolean): GatewayError {
  const call = `the call ${JSON.stringify(callId)}${name ? ` of ${JSON.stringify(name)}` : ''}`;
  const message = isLate
    ? `A tool result answers ${call}, but another turn of the assistant stands between them; put it right after the turn that makes the call.`
    : `A tool result answers ${call}, which no earlier turn of the assistant makes; send that turn too, with the same id.`;
  return new GatewayError('invalid_request', message, { param: 'turns' });
}

/** Way in which a protocol writes the turns of a request. */
interface WrittenTurns {
  isOfModel(turn: Json): boolean;
  partsOf(turn: Json): Json;
  isCounted(part: Json): boolean;
}

/** Number of parts after the last turn of the model; members that are no list or object do not count. */
export function countSinceModel(turns: Json, { isOfModel, partsOf, isCounted }: WrittenTurns): number {
  if (!Array.isArray(turns)) return 0;
  let count = 0;
  for (let index = turns.length - 1; index >= 0; index--) {
    const turn = turns[index];
    if (!isObject(turn)) continue;
    if (isOfModel(turn)) break;
    const parts = partsOf(turn);
    if (!Array.isArray(parts)) continue;
    for (const part of parts) if (isObject(part) && isCounted(part)) count++;
  }
  return count;
}

/** Maximum characters of a call's id at OpenAI's chat completions. */
const MAX_CALL_ID_CHARACTERS = 40;
const DIGEST_CHARACTERS = 32;

/** The id of a call, or its digest in place of a longer one, so that a call and its result still match. */
export function shortCallId(id: string): string {
  if (id.length <= MAX_CALL_ID_CHARACTERS) return id;
  return `call_${hash('sha256', id).slice(0, DIGEST_CHARACTERS)}`;
}
