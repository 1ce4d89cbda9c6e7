/** Upstreams of all three protocols that fail on demand, behind one model each. */

import type { ServerResponse } from 'node:http';
import type { Json } from '../../src/core/json/json.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import {
  answerEvents,
  answerJson,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';

/** How an upstream answers: well, with a status, or in one of the ways in which upstreams break. */
export type Behaviour =
  | 'well'
  | number
  | { status: number; headers?: Record<string, string>; body?: Json }
  | 'error in 200'
  | 'late error in 200'
  | 'no answer in 200'
  | 'empty stream'
  | 'stream without answer'
  | 'breaks off at once'
  | 'closes'
  | 'breaks off'
  | 'refuses midway'
  | 'begins'
  | 'never';

export interface Scripted extends TestUpstream {
  /** Of all calls, or by the credential that is used. */
  behaves: Behaviour | ((call: UpstreamCall) => Behaviour);
  /** Nothing is answered before. */
  held?: Promise<void>;
}

const OVERLOADED: Record<ProtocolId, Json> = {
  chat: { error: { message: 'Overloaded.', type: 'overloaded_error', code: 'overloaded' } },
  messages: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded.' } },
  generate: { error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } },
};

const REFUSED: Record<ProtocolId, Json> = {
  chat: { error: { message: 'Filtered.', type: 'invalid_request_error', code: 'content_filter' } },
  messages: { type: 'error', error: { type: 'invalid_request_error', message: 'Filtered.' } },
  generate: { error: { code: 400, message: 'Filtered.', status: 'INVALID_ARGUMENT' } },
};

/** An answer whose text is `text`. */
const WHOLE: Record<ProtocolId, (text: string) => Json> = {
  chat: (text) => ({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
  }),
  messages: (text) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
    content: [{ type: 'text', text }],
    usage: { input_tokens: 3, output_tokens: 5 },
  }),
  generate: (text) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
    modelVersion: 'm',
  }),
};

const FRAMES: Record<ProtocolId, (text: string) => Json[]> = {
  chat: (text) => [
    {
      id: 'c',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: { role: 'assistant', content: '' } }],
    },
    { id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content: text } }] },
    { id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { id: 'c', model: 'm', choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } },
  ],
  messages: (text) => [
    { type: 'message_start', message: { ...WHOLE.messages(''), content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ],
  generate: (text) => [WHOLE.generate(text)],
};

function events(frames: Json[]): string {
  return frames.map((data) => `${data.type ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`).join('');
}

function protocolOf({ path }: UpstreamCall): ProtocolId {
  if (path.includes('/chat/completions')) return 'chat';
  return path.includes('/messages') ? 'messages' : 'generate';
}

/** An upstream whose answers are its `name`. */
export async function startScripted(name: string): Promise<Scripted> {
  const scripted: Scripted = Object.assign(
    await startUpstream(async (call, response) => {
      await scripted.held;
      const { behaves } = scripted;
      answer(typeof behaves === 'function' ? behaves(call) : behaves, name, { call, response });
    }),
    { behaves: 'well' as Behaviour },
  );
  return scripted;
}

function answer(
  behaviour: Behaviour,
  name: string,
  { call, response }: { call: UpstreamCall; response: ServerResponse },
): void {
  const protocol = protocolOf(call);
  const streamed = call.body?.stream === true || call.path.includes('stream');
  const frames = FRAMES[protocol](name);
  /** Frames before the first content. */
  const opening = protocol === 'generate' ? [] : frames.slice(0, 1);
  const failure: Behaviour = typeof behaviour === 'number' ? { status: behaviour } : behaviour;
  if (typeof failure === 'object')
    answerJson(response, failure.body ?? OVERLOADED[protocol], failure.status, failure.headers);
  else if (failure === 'closes') response.destroy();
  else if (failure === 'empty stream') answerEvents(response, '');
  else if (failure === 'stream without answer') answerEvents(response, SILENT[protocol]);
  else if (failure === 'no answer in 200') answerJson(response, { id: 'c', object: 'chat.completion', choices: [] });
  else if (failure === 'breaks off' || failure === 'breaks off at once') {
    const sent = failure === 'breaks off' ? BEGINNINGS[protocol](name) : opening;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`: begun\n\n${events(sent)}`, () => response.destroy());
  } else if (failure === 'refuses midway') {
    answerEvents(response, events([...BEGINNINGS[protocol](name), REFUSED[protocol]]));
  } else if (failure === 'begins') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events(BEGINNINGS[protocol](name)));
  } else if (failure !== 'never') {
    const wrong = failure === 'well' ? undefined : OVERLOADED[protocol];
    const before = failure === 'late error in 200' ? opening : [];
    if (streamed) answerEvents(response, events(wrong ? [...before, wrong] : frames));
    else answerJson(response, wrong ?? WHOLE[protocol](name));
  }
}

/** Streams that end as they should, and have no answer. */
const SILENT: Record<ProtocolId, string> = {
  chat: `${events(FRAMES.chat('').slice(0, 1))}data: [DONE]\n\n`,
  messages: events([FRAMES.messages('')[0], { type: 'message_stop' }]),
  generate: events([{ modelVersion: 'm' }]),
};

/** Some text, and no end. */
const BEGINNINGS: Record<ProtocolId, (text: string) => Json[]> = {
  chat: (text) => FRAMES.chat(text).slice(0, 2),
  messages: (text) => FRAMES.messages(text).slice(0, 3),
  generate: (text) => [{ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] }],
};

const TYPES: Record<ProtocolId, string> = { chat: 'openai-compatible', messages: 'anthropic', generate: 'google' };

/** The entry of a provider that this upstream is, speaking `protocol`. */
export function providerEntry({ url }: TestUpstream, protocol: ProtocolId, more = ''): string {
  const base = protocol === 'chat' ? `${url}/v1` : url;
  return `{ type: ${TYPES[protocol]}, base_url: "${base}"${more || ', api_key: key-of-it'}, models: [{ id: m }] }`;
}

export interface Fleet {
  gateway: TestGateway;
  /** One upstream for each name. */
  upstreams: Record<string, Scripted>;
  /** Milliseconds on the gateway's own clock of endpoints. */
  pass(milliseconds: number): void;
  close(): Promise<void>;
}

export interface FleetOptions {
  names: readonly string[];
  protocol?: ProtocolId;
  /** Further YAML; the model `house/m` has every upstream as an endpoint, in order of priority. */
  more?: string;
  server?: string;
}

export async function startFleet({ names, protocol = 'chat', more = '', server = '' }: FleetOptions): Promise<Fleet> {
  const clock = createManualClock(1_000_000);
  const started = await Promise.all(names.map(async (name) => [name, await startScripted(name)] as const));
  const upstreams = Object.fromEntries(started);
  const providers = started.map(([name, upstream]) => `  ${name}: ${providerEntry(upstream, protocol)}`).join('\n');
  const endpoints = names.map((name, priority) => `{ provider: ${name}, model: m, priority: ${priority} }`).join(', ');
  const yaml = `${server}\nproviders:\n${providers}\nmodels:\n  house/m: { endpoints: [${endpoints}] }\n${more}`;
  const gateway = await startTestGateway(yaml, { clock });
  return {
    gateway,
    upstreams,
    pass: clock.advance,
    async close() {
      await gateway.close();
      await Promise.all(started.map(([, upstream]) => upstream.close()));
    },
  };
}
