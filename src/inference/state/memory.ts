/**
 * Remembers what models thought before their tool calls, for clients that hand back the call but not the reasoning, and
 * whose state is whose. Bounded, in memory only: a client that keeps the state, as the protocols ask, never needs the first.
 */

import type { CallPart, OpenPart, Part, ReasoningPart, Turn } from '../../core/chat.ts';
import { createStateOwners, type StateOwners } from './owners.ts';

export interface StateMemory extends StateOwners {
  /** Keeps the reasoning and state of an answer's calls, under the ids of the calls. */
  remember(owner: string, origin: string, parts: readonly OpenPart[]): void;
  /** Gives turns of the same owner what they lost, if it is state of `origin`. */
  restore(owner: string, origin: string, turns: readonly Turn[]): void;
}

interface Memory {
  origin: string;
  reasoning: ReasoningPart[];
  call: CallPart;
  /** Of one answer, so that reasoning is given back once, to the first. */
  first: boolean;
  size: number;
}

/** About a day of a busy team's tool calls; the oldest are forgotten first. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

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

/** The parts of a turn and of those before it that belong to the same answer. */
function answerBefore(turns: readonly Turn[], index: number): Part[] {
  const parts: Part[] = [];
  for (let at = index; turns[at]?.role === 'assistant'; at--) parts.push(...(turns[at]?.parts ?? []));
  return parts;
}

function holdsState(part: Part, origin: string): boolean {
  return part.type === 'reasoning' && part.opaque?.origin === origin;
}
