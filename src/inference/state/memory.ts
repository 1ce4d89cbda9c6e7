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
      /** Whether the turns of the answer at hand have reasoning. */
      let hasReasoning = false;
      for (const turn of turns) {
        if (turn.role !== 'assistant') {
          hasReasoning = false;
          continue;
        }
        hasReasoning ||= turn.parts.some((part) => holdsState(part, origin));
        let restored: ReasoningPart[] | undefined;
        for (const call of turn.parts) {
          if (call.type !== 'call') continue;
          const memory = memories.get(`${owner} ${call.id}`);
          if (memory?.origin !== origin) continue;
          if (memory.call.opaque && call.opaque?.origin !== origin) call.opaque = memory.call.opaque;
          if (memory.first && !hasReasoning) restored = memory.reasoning;
        }
        if (!restored) continue;
        turn.parts = [...restored, ...turn.parts.filter((part) => part.type !== 'reasoning')];
        hasReasoning = restored.some((part) => holdsState(part, origin));
      }
    },
  };
}

function holdsState(part: Part, origin: string): boolean {
  return part.type === 'reasoning' && part.opaque?.origin === origin;
}
