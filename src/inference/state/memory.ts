/**
 * State memory: reasoning before tool calls, for clients that return the call but not the reasoning, and
 * the owners of state. Bounded, in memory only; clients that return the state, as the protocols require, do not need the former.
 */

import type { CallPart, OpenPart, Part, ReasoningPart, Turn } from '../../core/chat.ts';
import { createStateOwners, type StateOwners } from './owners.ts';

export interface StateMemory extends StateOwners {
  /** Stores the reasoning and state of the calls in an answer, by call id. */
  remember(owner: string, origin: string, parts: readonly OpenPart[]): void;
  /** Restores missing reasoning and state of `origin` in turns of the same owner. */
  restore(owner: string, origin: string, turns: readonly Turn[]): void;
}

interface Memory {
  origin: string;
  reasoning: ReasoningPart[];
  call: CallPart;
  /** First call of its answer; the reasoning is restored only with it. */
  first: boolean;
  size: number;
}

/** Memory limit in characters: about a day of a busy team's tool calls. The oldest are evicted first. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** `maxCharacters`: limit of all remembered state together; the oldest is evicted first. */
export function createStateMemory(maxCharacters = MAX_CHARACTERS): StateMemory {
  const memories = new Map<string, Memory>();
  let characters = 0;

  function store(key: string, memory: Memory): void {
    forget(key);
    memories.set(key, memory);
    characters += memory.size;
    for (const oldest of memories.keys()) {
      if (characters <= maxCharacters) break;
      forget(oldest);
    }
  }

  function forget(key: string): void {
    characters -= memories.get(key)?.size ?? 0;
    memories.delete(key);
  }

  return {
    ...createStateOwners(),
    remember(owner, origin, parts) {
      const reasoning = parts.filter((part) => part.type === 'reasoning');
      const calls = parts.filter((part) => part.type === 'call');
      if (reasoning.length === 0 && calls.every(({ opaque }) => !opaque)) return;
      for (const [index, call] of calls.entries()) {
        const memory = { origin, reasoning: index === 0 ? reasoning : [], call, first: index === 0 };
        store(`${owner} ${call.id}`, { ...memory, size: JSON.stringify(memory).length });
      }
    },
    restore(owner, origin, turns) {
      /** State in the turns of the answer at hand, each with the turn that has it. */
      let held = new Map<string, Turn>();
      /** Whether reasoning is among it. */
      let hasReasoning = false;
      /** Memories of which nothing is missing. */
      let whole = new Set<Memory>();
      for (const turn of turns) {
        if (turn.role !== 'assistant') {
          held = new Map();
          hasReasoning = false;
          whole = new Set();
          continue;
        }
        for (const part of turn.parts) hold(part, turn);
        let restored: Memory | undefined;
        for (const call of turn.parts) {
          if (call.type !== 'call') continue;
          const memory = memories.get(`${owner} ${call.id}`);
          if (memory?.origin !== origin) continue;
          if (memory.call.opaque && call.opaque?.origin !== origin) call.opaque = memory.call.opaque;
          if (!memory.first || memory === restored || whole.has(memory)) continue;
          if (isMissing(memory.reasoning)) restored = memory;
          else whole.add(memory);
        }
        if (restored) putBack(restored.reasoning, turn);
      }

      function hold(part: Part, turn: Turn): void {
        const state = stateOf(part, origin);
        if (state === undefined) return;
        if (!held.has(state)) held.set(state, turn);
        hasReasoning ||= part.type === 'reasoning';
      }

      /** Clients lose all reasoning of an answer, or all but its last piece; some return its state on another part. */
      function isMissing(reasoning: readonly ReasoningPart[]): boolean {
        const states = reasoning.flatMap((part) => stateOf(part, origin) ?? []);
        return states.length > 0 ? states.some((state) => !held.has(state)) : !hasReasoning;
      }

      function putBack(reasoning: readonly ReasoningPart[], turn: Turn): void {
        const missing = reasoning.filter((part) => (held.get(stateOf(part, origin) ?? '') ?? turn) === turn);
        const states = new Set(missing.map((part) => stateOf(part, origin)));
        const others = turn.parts.filter((part) => {
          const state = stateOf(part, origin);
          return part.type !== 'reasoning' || (state !== undefined && !states.has(state));
        });
        turn.parts = [...missing, ...others];
        for (const part of missing) hold(part, turn);
      }
    },
  };
}

function stateOf(part: Part, origin: string): string | undefined {
  return 'opaque' in part && part.opaque?.origin === origin ? part.opaque.value : undefined;
}
