/** Answers with each member and variant of the official SDKs' types: the same for a client of the protocol, and for another never an error, and of its own SDK's types. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { answerEvents, answerJson, HEADERS, post, startTestGateway, startUpstream } from '../gateway/harness.ts';
import { ANSWERS, type AnswerCase, SAID } from './answer-cases.ts';
import { Misfits } from './declared-answers.ts';
import { PROTOCOLS, TYPES } from './provided-gateway.ts';
import type { UpstreamProtocol } from './upstreams.ts';

/** Members that the gateway may write itself. */
const OWN = new Set(['model', 'modelVersion', 'id', 'responseId']);
/** Depth of members that are asked for in every protocol. */
const MOST_FIELDS = 3;

const ASK: Record<UpstreamProtocol, (model: string, stream: boolean) => [path: string, body: Json]> = {
  chat: (model, stream) => [
    '/v1/chat/completions',
    {
      ...{ model, messages: [{ role: 'user', content: 'Hi' }], stream },
      ...(stream && { stream_options: { include_usage: true } }),
    },
  ],
  messages: (model, stream) => [
    '/anthropic/v1/messages',
    { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], stream },
  ],
  generate: (model, stream) => [
    `/gemini/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  ],
  responses: (model, stream) => ['/v1/responses', { model, input: 'Hi', store: false, stream }],
};

/** The first place where a value of the upstream is not that of the client; members may be added. */
function difference(given: Json, got: Json, at = ''): string | undefined {
  if (given === null || typeof given !== 'object') return given === got ? undefined : `${at}: ${JSON.stringify(got)}`;
  if (got === null || typeof got !== 'object') return `${at}: ${JSON.stringify(got)}`;
  if (Array.isArray(given) && given.length !== got.length) return `${at}: another length`;
  for (const [name, value] of Object.entries(given)) {
    const found = OWN.has(name) ? undefined : difference(value, got[name], `${at}.${name}`);
    if (found) return found;
  }
  return undefined;
}

function bytesOf(wire: UpstreamProtocol, events: Json[]): string {
  const frames = events.map((event) => {
    const name = wire === 'messages' || wire === 'responses' ? `event: ${event.type}\n` : '';
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return `${frames.join('')}${wire === 'chat' ? 'data: [DONE]\n\n' : ''}`;
}

function eventsIn(text: string): Json[] {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => json.trim());
  return data.filter((json) => json.startsWith('{')).map((json) => JSON.parse(json));
}

for (const wire of PROTOCOLS) {
  describe(`answers of ${wire}`, () => {
    let answer: AnswerCase;
    let url: string;
    let close: () => Promise<void>;

    before(async () => {
      const upstream = await startUpstream(({ body, path }, response) => {
        const isStream = body.stream === true || path.includes(':stream');
        if (isStream) answerEvents(response, bytesOf(wire, answer.events));
        else answerJson(response, answer.whole);
      });
      const base = `${upstream.url}${['chat', 'responses'].includes(wire) ? '/v1' : ''}`;
      const gateway = await startTestGateway(
        `providers:\n  p: { type: ${TYPES[wire]}, base_url: "${base}", api_key: k, models: [{ id: m }] }`,
      );
      url = gateway.url;
      close = async () => {
        await gateway.close();
        await upstream.close();
      };
    });
    after(() => close());

    async function ask(client: UpstreamProtocol, stream: boolean): Promise<{ status: number; text: string }> {
      const [path, body] = ASK[client]('p/m', stream);
      const headers = client === 'responses' ? HEADERS.chat : HEADERS[client];
      const response = await post(url + path, body, headers);
      return { status: response.status, text: await response.text() };
    }

    test('a client of the protocol gets them as they are', { timeout: 600_000 }, async () => {
      const changed = new Set<string>();
      for (answer of ANSWERS[wire]()) {
        const { path, whole, events } = answer;
        const { text } = await ask(wire, false);
        const found = difference(whole, JSON.parse(text));
        if (found) changed.add(`${path}${found}`);
        const streamed = await ask(wire, true);
        const lost = difference(
          events,
          eventsIn(streamed.text).filter(({ type }) => type !== 'ping'),
        );
        if (lost) changed.add(`${path} in a stream${lost}`);
      }
      assert.deepEqual([...changed], []);
    });

    for (const client of PROTOCOLS.filter((other) => other !== wire)) {
      test(`a client of ${client} gets the answer`, { timeout: 600_000 }, async () => {
        const broken = new Set<string>();
        const misfits = new Misfits(client);
        for (answer of ANSWERS[wire]()) {
          const { path } = answer;
          if (path.split('.').length > MOST_FIELDS) continue;
          for (const stream of [false, true]) {
            const { status, text } = await ask(client, stream);
            const events = stream ? eventsIn(text) : [];
            const said = stream ? JSON.stringify(events) : text;
            if (stream) misfits.addStream(events);
            else misfits.addWhole(JSON.parse(text));
            const isWhole = status === 200 && said.includes(SAID) && !/"error":\{|"type":"error"/.test(said);
            if (!isWhole) broken.add(`${path}${stream ? ' in a stream' : ''}: ${status} ${text.slice(0, 300)}`);
          }
        }
        assert.deepEqual([...broken], []);
        assert.deepEqual(misfits.list(), []);
      });
    }
  });
}
