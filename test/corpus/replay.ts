/** A gateway in front of an upstream that answers every request with the recording in hand. */

import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, PATHS, post, startTestGateway, startUpstream, type UpstreamCall } from '../gateway/harness.ts';
import type { Recording, UpstreamId } from './recordings.ts';

/** What the upstream answers: a whole body or a stream's text. */
export interface Answered {
  status: number;
  body?: Json;
  stream?: string;
  /** What further requests get, when the gateway continues a turn that paused. */
  rest?: Answered;
}

export interface Received {
  status: number;
  headers: Headers;
  text: string;
  /** The same once more, for who reads it by itself. */
  response: Response;
  /** What the upstream was asked; undefined when the gateway refused by itself. */
  upstream?: UpstreamCall;
}

export interface Replay {
  /** `<provider>/<model>` of the recording in the gateway. */
  model(recording: Recording): string;
  ask(client: UpstreamId, asked: { model: string; stream: boolean; body: Json; answer: Answered }): Promise<Received>;
  close(): Promise<void>;
}

/** Recorded providers that are types of the gateway; the others speak the plain protocol. */
const OWN_TYPES = new Set([
  'openai',
  'deepseek',
  'mistral',
  'xai',
  'groq',
  'openrouter',
  'perplexity',
  'together',
  'baseten',
  'cerebras',
  'huggingface',
  'venice',
  'zai',
]);

/** Those that relay the Responses protocol. */
const RESPONSES_TYPES = new Set(['openai', 'deepseek', 'xai', 'openrouter']);

function typeOf({ protocol, provider }: Recording): string {
  if (protocol === 'responses') return RESPONSES_TYPES.has(provider) ? provider : 'open-responses';
  if (protocol === 'messages') return 'anthropic';
  if (protocol === 'generate') return 'google';
  if (protocol === 'converse') return 'bedrock';
  return OWN_TYPES.has(provider) ? provider : 'openai-compatible';
}

/** One for each type and protocol; each is spoken to in the protocol of its recordings. */
function providerOf(recording: Recording): string {
  return recording.protocol === 'responses' ? `${typeOf(recording)}-responses` : typeOf(recording);
}

export async function startReplay(recordings: Recording[]): Promise<Replay> {
  let answer: Answered = { status: 500 };
  const upstream = await startUpstream((_call, response) => {
    const now = upstream.calls.length > 1 ? (answer.rest ?? answer) : answer;
    const type = now.stream === undefined ? 'application/json' : 'text/event-stream';
    const text = now.stream ?? (typeof now.body === 'string' ? now.body : JSON.stringify(now.body));
    response.writeHead(now.status, { 'content-type': type }).end(text);
  });
  const providers: Record<string, Json> = {};
  for (const [provider, [first, ...others]] of Map.groupBy(recordings, providerOf)) {
    if (!first) continue;
    const { protocol } = first;
    const ids = new Set([first, ...others].map(({ model }) => model));
    const version = ['messages', 'generate', 'converse'].includes(protocol) ? '' : '/v1';
    const models = [...ids].map((id) => ({ id, rules: { protocols: [protocol] } }));
    providers[provider] = { type: typeOf(first), base_url: upstream.url + version, api_key: 'upstream-key', models };
  }
  const gateway = await startTestGateway(`providers: ${JSON.stringify(providers)}`);

  return {
    model: (recording) => `${providerOf(recording)}/${recording.model}`,
    async ask(client, asked) {
      answer = asked.answer;
      upstream.calls.length = 0;
      gateway.log.length = 0;
      const path = client === 'responses' ? '/v1/responses' : PATHS[client](asked.model, asked.stream);
      const headers = HEADERS[client === 'responses' ? 'chat' : client];
      const response = await post(gateway.url + path, asked.body, headers);
      const again = response.clone();
      const text = await response.text();
      const { status } = response;
      return { status, headers: response.headers, text, response: again, upstream: upstream.calls[0] };
    },
    async close() {
      await gateway.close();
      await upstream.close();
    },
  };
}
