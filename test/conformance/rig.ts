/** A gateway in front of one upstream that speaks all three protocols and says what a test wants. */

import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from '../gateway/harness.ts';
import { type Said, SPEAKERS } from './answers.ts';

export const IDS: readonly ProtocolId[] = ['chat', 'messages', 'generate'];

/** A plain model behind each protocol. */
export const MODELS: Record<ProtocolId, string> = { chat: 'a/m', messages: 'b/m', generate: 'c/m' };

/** Results of tool calls in a request to an upstream, as text. */
export const TOOL_RESULTS: Record<ProtocolId, (body: Json) => string[]> = {
  chat: ({ messages }) =>
    messages.filter(({ role }: Json) => role === 'tool').map(({ content }: Json) => JSON.stringify(content)),
  messages: ({ messages }) =>
    messages
      .flatMap(({ content }: Json) => content)
      .filter(({ type }: Json) => type === 'tool_result')
      .map(({ content }: Json) => JSON.stringify(content)),
  generate: ({ contents }) =>
    contents
      .flatMap(({ parts }: Json) => parts)
      .filter((part: Json) => part.functionResponse)
      .map((part: Json) => JSON.stringify(part.functionResponse.response)),
};

/** All that a test needs; `gateway` and `upstream` exist while tests run. */
export interface Rig {
  readonly gateway: TestGateway;
  readonly upstream: TestUpstream;
  /** What the upstream answers from now on, until the test is over. */
  answer(answerer: Answerer): void;
  say(said: Said): void;
  /** The one request that went upstream. */
  sent(): UpstreamCall;
}

/** `models` are members of the YAML list of each provider's models; `yaml` adds top-level members. */
export function useRig(options: { providers?: string; yaml?: string } = {}): Rig {
  let gateway: TestGateway;
  let upstream: TestUpstream;
  let answerer: Answerer = speak({ text: 'Hello' });

  before(async () => {
    upstream = await startUpstream((call, response) => answerer(call, response));
    const providers = `
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: upstream-key-1, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: upstream-key-2, models: [{ id: m }] }
${(options.providers ?? '').replaceAll('URL', upstream.url)}`;
    gateway = await startTestGateway(`${options.yaml ?? ''}\nproviders:${providers}`);
  });
  after(async () => {
    await gateway.close();
    await upstream.close();
  });
  beforeEach(() => {
    answerer = speak({ text: 'Hello' });
    upstream.calls.length = 0;
  });

  return {
    get gateway() {
      return gateway;
    },
    get upstream() {
      return upstream;
    },
    answer: (next) => {
      answerer = next;
    },
    say: (said) => {
      answerer = speak(said);
    },
    sent() {
      assert.equal(upstream.calls.length, 1);
      return upstream.calls[0] as UpstreamCall;
    },
  };
}

/** Says the same in whatever protocol and form it is asked. */
export function speak(said: Said): Answerer {
  return ({ path, body }, response) => {
    const protocol = protocolOf(path);
    const speaker = SPEAKERS[protocol];
    if (body.stream === true || path.includes('alt=sse')) answerEvents(response, speaker.stream(said));
    else answerJson(response, speaker.whole(said));
  };
}

export function protocolOf(path: string): ProtocolId {
  if (path.includes('/chat/completions')) return 'chat';
  return path.includes('/messages') ? 'messages' : 'generate';
}

export interface Sent {
  protocol: ProtocolId;
  /** `a/m`, `b/m`, `c/m` or one of the test's own. */
  model: string;
  /** Changes of a plain question. */
  change?: Json;
  stream?: boolean;
  headers?: Record<string, string>;
  path?: string;
}

export interface Got {
  status: number;
  headers: Headers;
  text: string;
}

export async function send({ gateway }: Rig, sent: Sent): Promise<Got> {
  const { protocol, model, change = {}, stream = false, headers = {}, path = PATHS[protocol](model, stream) } = sent;
  const body = { ...question(protocol, model, 'hi', stream), ...change };
  const response = await post(gateway.url + path, body, { ...HEADERS[protocol], ...headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The body of a 200 answer. */
export async function whole(rig: Rig, sent: Sent): Promise<Json> {
  const { status, text } = await send(rig, sent);
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

/** The text of a stream that was begun. */
export async function streamed(rig: Rig, sent: Sent): Promise<string> {
  const { status, text } = await send(rig, { ...sent, stream: true });
  assert.equal(status, 200, text);
  return text;
}

/** The wire's own words for a tool without arguments and with one. */
export const TOOLS: Record<ProtocolId, Json> = {
  chat: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }] },
  messages: { tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }] },
  generate: { tools: [{ functionDeclarations: [{ name: 'f' }] }] },
};
