/** Sandbox responses: statuses, delays and broken streams, until the request is aborted. */

import { GatewayError } from '../../core/errors.ts';
import type { LocalResponse } from '../../core/provider.ts';
import type { SandboxClock } from './clock.ts';
import type { FaultScript, StreamBreak } from './faulty.ts';
import { errorBody, frame } from './wire.ts';

/** A response and how to send it. */
export interface SandboxReply {
  id: string;
  stream: boolean;
  /** The frames of a stream, or the whole response as one chunk. */
  chunks: Iterable<string>;
  script: FaultScript;
  clock: SandboxClock;
  signal: AbortSignal;
}

const FAILURE_MESSAGE = 'The sandbox fails, as asked.';
const HTML_BODY = '<!doctype html><title>Sandbox</title><p>This is not JSON, as asked.</p>\n';

/** Rejects only when aborted. */
export async function sendReply(delivery: SandboxReply): Promise<LocalResponse> {
  const { script, clock, signal, stream } = delivery;
  signal.throwIfAborted();
  if (script.slow > 0) await clock.wait(script.slow, signal);
  const { fault } = script;
  switch (fault.type) {
    case 'none':
      return localResponse(delivery, 200, send(delivery, delivery.chunks));
    case 'break':
      if (fault.how === 'error' && !stream) return errorIn200(delivery);
      return localResponse(delivery, 200, sendBroken(delivery, fault.after, fault.how));
    case 'status':
      return localResponse(
        delivery,
        fault.status,
        send(delivery, [JSON.stringify(errorBody(fault.status, FAILURE_MESSAGE))]),
      );
    case 'hang':
      return hangUntilAborted(signal);
    case 'garbage':
      return localResponse(delivery, 200, send(delivery, [HTML_BODY]), 'text/html');
    case 'empty':
      return localResponse(delivery, 200, send(delivery, []));
    case 'error-in-200':
      return errorIn200(delivery);
  }
}

function errorIn200(delivery: SandboxReply): LocalResponse {
  const body = errorBody(500, FAILURE_MESSAGE);
  return localResponse(delivery, 200, send(delivery, [delivery.stream ? frame(body) : JSON.stringify(body)]));
}

function localResponse(
  { id, stream }: SandboxReply,
  status: number,
  body: AsyncIterable<Buffer>,
  type?: string,
): LocalResponse {
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

/** Never complete: the last frame, or half of a whole response, is always missing. */
async function* sendBroken(delivery: SandboxReply, after: number, how: StreamBreak): AsyncGenerator<Buffer> {
  const chunks = [...delivery.chunks];
  const [whole = ''] = chunks;
  const all = delivery.stream ? chunks.slice(0, -1) : [whole.slice(0, whole.length / 2)];
  yield* send(delivery, all.slice(0, after));
  switch (how) {
    case 'cut':
      throw new GatewayError('upstream_error', 'The sandbox broke off its response, as asked.');
    case 'hang':
      return hangUntilAborted(delivery.signal);
    case 'error':
      yield Buffer.from(frame(errorBody(500, FAILURE_MESSAGE)));
      return;
    case 'end':
      return;
  }
}

/** Rejects when the request is aborted, and never resolves. */
function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
