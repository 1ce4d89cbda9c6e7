/** Asks the sandbox as the relay does, and reads what it answers. */

import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import type { SandboxClock } from '../../src/providers/sandbox/clock.ts';
import { createSandboxUpstream } from '../../src/providers/sandbox/upstream.ts';

export const NOW = 1_800_000_000;

/** Remembers how long it was asked to wait, and doesn't. */
export function createClock(): SandboxClock & { waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => NOW * 1000,
    async wait(milliseconds, signal) {
      if (milliseconds > 0) waits.push(milliseconds);
      signal.throwIfAborted();
    },
  };
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  bytes: Buffer;
  /** What ended the bytes, if that was an error. */
  broken?: unknown;
}

export async function call(
  body: Json,
  clock: SandboxClock = createClock(),
  signal = new AbortController().signal,
): Promise<Reply> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const response = await createSandboxUpstream(clock)({
    method: 'POST',
    path: '/v1/chat/completions',
    body: bytes,
    signal,
  });
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response.body) chunks.push(chunk);
  } catch (broken) {
    return { ...response, bytes: Buffer.concat(chunks), broken };
  }
  return { ...response, bytes: Buffer.concat(chunks) };
}

export function user(model: string, content: Json, more: Json = {}): Json {
  return { model, messages: [{ role: 'user', content }], ...more };
}

/** The parsed whole response. */
export async function whole(body: Json): Promise<Json> {
  return JSON.parse((await call(body)).bytes.toString());
}

/** The parsed chunks of a streamed answer, `[DONE]` apart. */
export async function chunks(body: Json): Promise<Json[]> {
  const { bytes } = await call({ ...body, stream: true, stream_options: { include_usage: true } });
  return chunksIn(bytes);
}

export function chunksIn(bytes: Buffer): Json[] {
  const events = parseEvents(bytes).filter(({ data }) => data !== '[DONE]');
  return events.map(({ data }) => JSON.parse(data));
}

/** Puts the chunks of a stream together the way clients do. */
export function assembled(stream: Json[]): Json {
  const choices: Json[] = [];
  let usage: Json;
  for (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const { index, delta, finish_reason, logprobs } of chunk.choices) {
      choices[index] ??= { index, message: { role: delta.role, content: null, refusal: null }, logprobs: null };
      const choice = choices[index];
      if (finish_reason !== null) choice.finish_reason = finish_reason;
      if (logprobs)
        choice.logprobs = { content: [...(choice.logprobs?.content ?? []), ...logprobs.content], refusal: null };
      grow(choice.message, delta);
    }
  }
  const { id, created, model } = stream[0];
  return { id, object: 'chat.completion', created, model, choices, usage };
}

function grow(message: Json, delta: Json): void {
  for (const name of ['content', 'reasoning', 'reasoning_content']) {
    if (typeof delta[name] === 'string') message[name] = (message[name] ?? '') + delta[name];
  }
  for (const { index, ...part } of delta.tool_calls ?? []) {
    message.tool_calls ??= [];
    const before = message.tool_calls[index];
    if (!before) message.tool_calls[index] = structuredClone(part);
    else if (before.custom) before.custom.input += part.custom.input;
    else before.function.arguments += part.function.arguments;
  }
}
