/** Calls of a model's turn that wait for their results. */

import type { CallPart } from '../../core/chat.ts';

type OpenCall = Pick<CallPart, 'id' | 'name'> & { isAnswered: boolean };

/** Calls in their order; all before `from` are answered. */
interface Queue {
  calls: OpenCall[];
  from: number;
}

export interface OpenCalls {
  add(call: Pick<CallPart, 'id' | 'name'>): void;
  /** Whether a call has the id, answered or not. */
  has(id: string): boolean;
  /**
   * The call that a result answers: the one with its id, else the first open one of its name, else, for a result with
   * neither, the first open one.
   */
  take(id: string | undefined, name: string | undefined): Pick<CallPart, 'id' | 'name'> | undefined;
}

export function createOpenCalls(): OpenCalls {
  const byId = new Map<string, OpenCall>();
  const byName = new Map<string, Queue>();
  const all: Queue = { calls: [], from: 0 };

  function queueOf(name: string): Queue {
    const known = byName.get(name) ?? { calls: [], from: 0 };
    byName.set(name, known);
    return known;
  }

  function find(id: string | undefined, name: string | undefined): OpenCall | undefined {
    const own = id ? byId.get(id) : undefined;
    if (own) return own;
    if (name) return firstOpen(byName.get(name));
    return id ? undefined : firstOpen(all);
  }

  return {
    add({ id, name }) {
      const call = { id, name, isAnswered: false };
      if (!byId.has(id)) byId.set(id, call);
      queueOf(name).calls.push(call);
      all.calls.push(call);
    },
    has: (id) => byId.has(id),
    take(id, name) {
      const call = find(id, name);
      if (call) call.isAnswered = true;
      return call;
    },
  };
}

function firstOpen(queue: Queue | undefined): OpenCall | undefined {
  if (!queue) return undefined;
  while (queue.calls[queue.from]?.isAnswered) queue.from++;
  return queue.calls[queue.from];
}
