/** Sends answers as an upstream would: with its statuses, delays and breaks, until whoever asked goes away. */

import { setImmediate, setTimeout } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import type { LocalAnswer } from '../../core/provider.ts';
import type { Break, Script } from './faulty.ts';
import { errorBody, frame } from './wire.ts';

export interface SandboxClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Rejects when the signal fires; 0 lets others go first. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: SandboxClock = {
  now: Date.now,
  wait: (milliseconds, signal) =>
    milliseconds === 0 ? setImmediate(undefined, { signal }) : setTimeout(milliseconds, undefined, { signal }),
};

/** What there is to send when nothing goes wrong, and how to send it. */
export interface SandboxReply {
  id: string;
  stream: boolean;
  /** The frames of a stream, or the whole answer as the only chunk. */
  chunks: Iterable<string>;
  script: Script;
  clock: SandboxClock;
  signal: AbortSignal;
}

const FAILED = 'The sandbox fails, as asked.';
const HTML = '<!doctype html><title>Sandbox</title><p>This is not JSON, as asked.</p>\n';

/** Rejects only when aborted. */
export async function deliver(delivery: SandboxReply): Promise<LocalAnswer> {
  const { script, clock, signal, stream } = delivery;
  signal.throwIfAborted();
  if (script.slow > 0) await clock.wait(script.slow, signal);
  const { fault } = script;
  switch (fault.type) {
    case 'none':
      return answer(delivery, 200, send(delivery, delivery.chunks));
    case 'break':
      if (fault.how === 'error' && !stream) return errorIn200(delivery);
      return answer(delivery, 200, sendBroken(delivery, fault.after, fault.how));
    case 'status':
      return answer(delivery, fault.status, send(delivery, [JSON.stringify(errorBody(fault.status, FAILED))]));
    case 'hang':
      return silence(signal);
    case 'garbage':
      return answer(delivery, 200, send(delivery, [HTML]), 'text/html');
    case 'empty':
      return answer(delivery, 200, send(delivery, []));
    case 'error-in-200':
      return errorIn200(delivery);
  }
}

function errorIn200(delivery: SandboxReply): LocalAnswer {
  const body = errorBody(500, FAILED);
  return answer(delivery, 200, send(delivery, [delivery.stream ? frame(body) : JSON.stringify(body)]));
}

function answer({ id, stream }: SandboxReply, status: number, body: AsyncIterable<Buffer>, type?: string): LocalAnswer {
  const usual = stream && status === 200 ? 'text/event-stream' : 'application/json';
  const retry: Record<string, string> = status === 429 || status === 503 ? { 'retry-after': '1' } : {};
  return { status, headers: { 'content-type': type ?? usual, 'x-request-id': `req_${id}`, ...retry }, body };
}

async function* send({ script, clock, signal }: SandboxReply, chunks: Iterable<string>): AsyncGenerator<Buffer> {
  let pause = 0;
  for (const chunk of chunks) {
    await clock.wait(pause, signal);
    yield Buffer.from(chunk);
    pause = script.pause;
  }
}

/** Never gets to the end: the last frame, or half of a whole answer, is always missing. */
async function* sendBroken(delivery: SandboxReply, after: number, how: Break): AsyncGenerator<Buffer> {
  const chunks = [...delivery.chunks];
  const [whole = ''] = chunks;
  const all = delivery.stream ? chunks.slice(0, -1) : [whole.slice(0, whole.length / 2)];
  yield* send(delivery, all.slice(0, after));
  switch (how) {
    case 'cut':
      throw new GatewayError('upstream_error', 'The sandbox broke off its answer, as asked.');
    case 'hang':
      return silence(delivery.signal);
    case 'error':
      yield Buffer.from(frame(errorBody(500, FAILED)));
      return;
    case 'end':
      return;
  }
}

/** Waits until nobody wants an answer any more. */
function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
