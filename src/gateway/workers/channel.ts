/** Channel between two processes: calls by name in both directions, and those of one turn of the event loop in one message. */

import { encodeFailure } from '../../store/sqlite/failure.ts';
import type { OperationCall, OperationResult } from '../../store/sqlite/group-commit.ts';
import { createPendingCalls } from '../../store/sqlite/pending-calls.ts';

/** Structured-cloneable. */
export interface ChannelMessage {
  calls: OperationCall[];
  results: OperationResult[];
}

export type ChannelHandlers = Record<string, (parameters: never) => unknown>;

export interface Channel {
  /** Rejects if the handler throws, and when the channel is closed. */
  call(name: string, parameters: unknown): Promise<unknown>;
  /** A message of the other side has arrived. */
  receive(message: ChannelMessage): void;
  /** Rejects the calls that wait. */
  close(problem: Error): void;
  /** Resolves when no handler of this side runs. */
  handled(): Promise<void>;
}

/** `post` sends a message to the other side; the handlers answer the calls of that side. */
export function createChannel(post: (message: ChannelMessage) => void, handlers: ChannelHandlers): Channel {
  const pending = createPendingCalls();
  const running = new Set<Promise<void>>();
  let next: ChannelMessage = { calls: [], results: [] };
  let isScheduled = false;
  let closedBy: Error | undefined;

  function flush(): void {
    isScheduled = false;
    const message = next;
    next = { calls: [], results: [] };
    if (!closedBy) post(message);
  }

  function schedule(): void {
    if (!isScheduled) setImmediate(flush);
    isScheduled = true;
  }

  async function handle({ id, name, parameters }: OperationCall): Promise<void> {
    let result: OperationResult;
    try {
      const handler = handlers[name];
      if (!handler) throw new Error(`no handler ${name}`);
      result = { id, result: await handler(parameters as never) };
    } catch (error) {
      result = { id, failure: encodeFailure(error) };
    }
    next.results.push(result);
    schedule();
  }

  return {
    async call(name, parameters) {
      if (closedBy) throw closedBy;
      return pending.send(name, parameters, (call) => {
        next.calls.push(call);
        schedule();
      });
    },
    receive({ calls, results }) {
      pending.settle(results);
      for (const call of calls) {
        const handled = handle(call).finally(() => running.delete(handled));
        running.add(handled);
      }
    },
    close(problem) {
      closedBy = problem;
      pending.reject(problem);
    },
    async handled() {
      await Promise.all(running);
    },
  };
}
