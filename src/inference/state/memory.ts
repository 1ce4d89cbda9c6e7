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
      for (const [index, turn] of turns.entries()) {
        if (turn.role !== 'assistant') continue;
        const hasReasoning = answerBefore(turns, index).some((part) => holdsState(part, origin));
        for (const call of turn.parts.filter((part) => part.type === 'call')) {
          const memory = memories.get(`${owner} ${call.id}`);
          if (memory?.origin !== origin) continue;
          if (memory.call.opaque && call.opaque?.origin !== origin) call.opaque = memory.call.opaque;
          if (memory.first && !hasReasoning)
            turn.parts = [...memory.reasoning, ...turn.parts.filter((part) => part.type !== 'reasoning')];
        }
      }
    },
  };
}

/** The parts of a turn and of preceding turns of the same answer. */
function answerBefore(turns: readonly Turn[], index: number): Part[] {
  const parts: Part[] = [];
  for (let at = index; turns[at]?.role === 'assistant'; at--) parts.push(...(turns[at]?.parts ?? []));
  return parts;
}

function holdsState(part: Part, origin: string): boolean {
  return part.type === 'reasoning' && part.opaque?.origin === origin;
}
