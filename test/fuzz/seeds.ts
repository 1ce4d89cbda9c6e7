/** Good wires to start from, by protocol: the sources of the golden cases, and recordings where a folder has some. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, read } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { readCorpus } from '../corpus/recordings.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import type { Frame } from './mutation.ts';
import { RESPONSES_SEEDS } from './responses-seeds.ts';

export interface Seeds {
  requests: Json[];
  answers: Json[];
  streams: Frame[][];
  errors: Json[];
}

const GOLDEN = join(import.meta.dirname, '../golden');

/** Error answers have no golden sources of their own. */
const ERRORS: Record<ProtocolId, Json[]> = {
  chat: [
    { error: { message: 'context length exceeded', type: 'invalid_request_error', code: 'x', param: 'messages' } },
    { error: { message: { detail: [{ msg: 'nested' }] }, metadata: { error_type: 'x' }, innererror: { code: 'y' } } },
    [{ error: 'text' }],
    { object: 'error', detail: [{ msg: 'flat' }], status_code: 500, x_groq: { error: {} } },
  ],
  messages: [{ type: 'error', error: { type: 'overloaded_error', message: 'prompt is too long' }, request_id: 'req' }],
  generate: [
    {
      error: {
        code: 429,
        message: 'token count exceeds',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ reason: 'API_KEY_INVALID', retryDelay: '3s' }],
      },
    },
  ],
};

export function goldenSeeds(protocol: ProtocolId | 'responses'): Seeds {
  const more =
    protocol === 'responses' ? RESPONSES_SEEDS : { requests: [], answers: [], streams: [], errors: ERRORS[protocol] };
  const bodies = (kind: string): Json[] =>
    filesIn(kind, protocol, '.json')
      .map((path) => JSON.parse(readFileSync(path, 'utf8')).body)
      .filter((body) => body !== undefined);
  return {
    requests: [...bodies('requests'), ...more.requests],
    answers: [...bodies('responses'), ...more.answers],
    streams: [...filesIn('streams', protocol, '.sse').map((path) => parseEvents(readFileSync(path))), ...more.streams],
    errors: more.errors,
  };
}

function filesIn(kind: string, protocol: string, extension: string): string[] {
  const folder = join(GOLDEN, kind, protocol);
  return readdirSync(folder)
    .filter((file) => file.endsWith(extension) && !/\.to-\w+\./.test(file))
    .sort()
    .map((file) => join(folder, file));
}

/** Undefined when there is no such folder. */
export function recordedSeeds(folder: string): Record<ProtocolId | 'responses', Seeds> | undefined {
  const corpus = readCorpus(folder);
  if (!corpus) return undefined;
  const empty = (): Seeds => ({ requests: [], answers: [], streams: [], errors: [] });
  const seeds = { chat: empty(), messages: empty(), generate: empty(), responses: empty() };
  for (const { protocol, request, response } of corpus.recordings) {
    if (protocol === 'converse') continue;
    const { requests, answers, streams, errors } = seeds[protocol];
    if (request) requests.push(request);
    if (response.frames) streams.push(parseEvents(Buffer.from(response.frames.join(''))));
    else if (response.status >= 400) errors.push(response.body);
    else answers.push(response.body);
  }
  return seeds;
}

/** As it arrives: text, read the way the gateway reads it. */
export function arrived(body: Json): Json {
  return read(JSON.stringify(body));
}
