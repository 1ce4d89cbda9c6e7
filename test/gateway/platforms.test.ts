/** Providers of several protocols, and platforms: signatures, access tokens, framings and errors, through a whole gateway. */

import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { CredentialValue } from '../../src/core/credential.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import { bytesOf, type Platform } from '../../src/core/platform.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { createHeaderPlatform } from '../../src/providers/platform/headers.ts';
import { type Description, providerType } from '../../src/providers/type.ts';
import { createTokenSource } from '../../src/transport/token-source.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { awsChunk, awsException } from '../transport/aws-message.ts';
import {
  type Answerer,
  answerJson,
  ask,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';

interface Rig {
  gateway: TestGateway;
  upstream: TestUpstream;
}

const rigs: Rig[] = [];
after(async () => {
  await Promise.all(
    rigs.map(async ({ gateway, upstream }) => {
      await gateway.close();
      await upstream.close();
    }),
  );
});

async function startRig(
  description: Pick<Description, 'dialects'> & Partial<Description>,
  answer: Answerer,
  models = '[{ id: m }, { id: both }, { id: claude }]',
): Promise<Rig> {
  const type = providerType({ id: 'trial', name: 'Trial', environment: [], keyless: true, ...description });
  const upstream = await startUpstream(answer);
  const yaml = `providers: { trial: { base_url: ${upstream.url}, api_key: 'access:secret', models: ${models} } }`;
  const gateway = await startTestGateway(yaml, { providerTypes: new Map([...providerTypes, ['trial', type]]) });
  const rig = { gateway, upstream };
  rigs.push(rig);
  return rig;
}

const WHOLE: Record<ProtocolId, Json> = {
  chat: {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  messages: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
    content: [{ type: 'text', text: 'Hello.' }],
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  generate: {},
};

const MESSAGES_EVENTS = [
  { type: 'message_start', message: { ...WHOLE.messages, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];

const END_OF_STREAM: Record<ProtocolId, RegExp> = {
  chat: /data: \[DONE\]\n\n$/,
  messages: /event: message_stop\ndata: .*\n\n$/,
  generate: /"finishReason": ?"STOP"/,
};

/** By the path of the protocol itself. */
const answerWhole: Answerer = ({ path }, response) =>
  answerJson(response, path.includes('/messages') ? WHOLE.messages : WHOLE.chat);

describe('a provider of two protocols', () => {
  const start = () =>
    startRig(
      {
        dialects: [
          {
            protocol: 'chat',
            adapt(body) {
              if (body.adapted) return { changed: false, dropped: [] };
              body.adapted = true;
              return { changed: true, dropped: [] };
            },
          },
          { protocol: 'messages' },
        ],
        protocolsOf: ({ upstreamId }) => (upstreamId === 'claude' ? ['messages'] : ['chat', 'messages']),
      },
      answerWhole,
    );

  test("speaks the client's own protocol, else the one it prefers; a model may narrow the choice", async () => {
    const { gateway, upstream } = await start();
    const cases: [ProtocolId, model: string, asked: string, path: string][] = [
      ['chat', 'both', '/chat/completions', 'patched'],
      ['messages', 'both', '/v1/messages', 'passthrough'],
      ['generate', 'both', '/chat/completions', 'translated'],
      ['messages', 'claude', '/v1/messages', 'passthrough'],
      ['chat', 'claude', '/v1/messages', 'translated'],
    ];
    for (const [protocol, model, asked, path] of cases) {
      const response = await ask(gateway, { protocol, model: `trial/${model}`, text: 'Hi' });
      assert.equal(response.status, 200, await response.clone().text());
      assert.ok((await response.text()).includes('Hello.'));
      assert.equal(response.headers.get('x-polygate-path'), path, `${protocol} to ${model}`);
      assert.equal(upstream.calls.at(-1)?.path, asked);
      assert.equal(upstream.calls.at(-1)?.body.adapted, asked.includes('chat') ? true : undefined);
    }
  });

  test('one that makes only videos answers no conversation', async () => {
    const { gateway, upstream } = await startRig({ dialects: [] }, answerWhole);
    const response = await ask(gateway, { protocol: 'chat', model: 'trial/m', text: 'Hi' });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /provider \\"trial\\" makes videos: ask for them at POST \/v1\/videos/);
    assert.equal(upstream.calls.length, 0);
  });
});

const SKEW_MS = 60_000;

function signatureOf(parts: readonly string[], body: Buffer, secret: string): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return createHmac('sha256', secret)
    .update([...parts, digest].join('\n'))
    .digest('hex');
}

/** Signs the final request, and waits before it does. */
const signedPlatform = ({ baseUrl }: { baseUrl: string }): Platform => ({
  url: (destination) => {
    const operation = destination.type === 'inference' ? `/deployments/${destination.model}` : '';
    return `${baseUrl}${operation}${destination.path}?api-version=2026-01-01`;
  },
  async authorize(request, credential, now) {
    assert.equal(credential.type, 'key-pair');
    await new Promise(setImmediate);
    const { id, secret } = credential as Extract<CredentialValue, { type: 'key-pair' }>;
    const { pathname, search } = new URL(request.url);
    const parts = [request.method, pathname + search, String(now), request.headers['user-agent'] ?? ''];
    const signature = signatureOf(parts, bytesOf(request.body), secret);
    return { ...request, headers: { ...request.headers, 'x-date': String(now), authorization: `${id} ${signature}` } };
  },
});

/** Recomputes the signature from what arrived. */
function isSigned({ method, path, headers, bytes }: UpstreamCall): boolean {
  const date = String(headers['x-date']);
  const signature = signatureOf([method, path, date, headers['user-agent'] ?? ''], bytes, 'secret');
  return headers.authorization === `access ${signature}` && Math.abs(Date.now() - Number(date)) < SKEW_MS;
}

describe('a platform that signs', () => {
  test('signs the final method, URL, headers and bytes, for inference and discovery alike', async () => {
    const { gateway, upstream } = await startRig(
      {
        dialects: [{ protocol: 'chat' }],
        modelsPath: '/models',
        readKey: (text) => ({ type: 'key-pair', id: text.split(':')[0] ?? '', secret: text.split(':')[1] ?? '' }),
        platform: signedPlatform,
      },
      (call, response) => {
        if (!isSigned(call)) answerJson(response, { error: { message: 'InvalidSignature' } }, 403);
        else answerJson(response, call.method === 'GET' ? { data: [{ id: 'm' }] } : WHOLE.chat);
      },
      'discover',
    );
    for (const protocol of ['chat', 'messages', 'generate'] as const) {
      const response = await ask(gateway, { protocol, model: 'trial/m', text: 'Grüße' });
      assert.equal(response.status, 200, await response.text());
    }
    const [list, call] = upstream.calls;
    assert.equal(list?.path, '/models?api-version=2026-01-01');
    assert.equal(call?.path, '/deployments/m/chat/completions?api-version=2026-01-01');
  });
});

describe('a platform with access tokens', () => {
  const clock = createManualClock(1_795_000_000_000);
  let issued = 0;
  let failing = false;
  const source = createTokenSource({
    id: 'account',
    clock,
    async fetchToken() {
      issued++;
      const token = `token-${issued}`;
      await turn();
      if (failing) throw new Error('down');
      return { token, expiresAt: clock.now() + 3_600_000 };
    },
  });

  test('100 requests at once renew it once; it is renewed early; without one there is an error', async () => {
    const { gateway, upstream } = await startRig(
      { dialects: [{ protocol: 'chat' }], readKey: () => ({ type: 'token', source }) },
      answerWhole,
    );
    const send = () => ask(gateway, { protocol: 'chat', model: 'trial/m', text: 'Hi' });
    const answers = await Promise.all(Array.from({ length: 100 }, send));
    for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
    assert.equal(issued, 1);
    const tokens = () => new Set(upstream.calls.map(({ headers }) => headers.authorization));
    assert.deepEqual(tokens(), new Set(['Bearer token-1']));

    clock.advance(3_500_000);
    assert.equal((await send()).status, 200);
    assert.deepEqual(tokens(), new Set(['Bearer token-1']), 'nobody waits for an early renewal');
    await source.token();
    while ((await source.token()) === 'token-1') await turn();
    assert.equal((await send()).status, 200);
    assert.equal(upstream.calls.at(-1)?.headers.authorization, 'Bearer token-2');
    assert.equal(issued, 2);

    clock.advance(7_200_000);
    failing = true;
    const refused = await send();
    assert.equal(refused.status, 502);
    assert.match(await refused.text(), /No access token/);
    assert.equal(upstream.calls.length, 102, 'nothing was sent without a token');
  });
});

/** Claude behind a platform: another path, a body without a model, and streams in binary messages. */
const awsPlatform = ({ baseUrl }: { baseUrl: string }): Platform => ({
  ...createHeaderPlatform({ baseUrl }),
  url: (destination) =>
    destination.type === 'inference'
      ? `${baseUrl}/model/${encodeURIComponent(destination.model)}/${destination.stream ? 'invoke-with-response-stream' : 'invoke'}`
      : baseUrl + destination.path,
  framing: 'aws-event-stream',
  decodeError({ headers, body }) {
    const [name = ''] = (headers['x-amzn-errortype'] ?? '').split(':');
    const code = /^(ServiceQuotaExceeded|throttling)/i.test(name) ? 'rate_limit_exceeded' : undefined;
    return code && new GatewayError(code, String(body?.message ?? name));
  },
});

function hello(response: Parameters<Answerer>[1], frames: readonly Buffer[]): void {
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  const bytes = Buffer.concat(frames);
  for (let at = 0; at < bytes.length; at += 50) response.write(bytes.subarray(at, at + 50));
  response.end();
}

describe('a platform that frames streams as AWS does', () => {
  const start = (answer: Answerer) =>
    startRig({ dialects: [{ protocol: 'messages' }], platform: awsPlatform }, answer, "[{ id: 'anthropic.m-v1:0' }]");
  const model = 'trial/anthropic.m-v1:0';

  for (const protocol of ['chat', 'messages', 'generate'] as const) {
    test(`serves clients of ${protocol} their own stream`, async () => {
      const { gateway, upstream } = await start((_, response) => hello(response, MESSAGES_EVENTS.map(awsChunk)));
      const response = await ask(gateway, { protocol, model, text: 'Hi', stream: true });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.ok(text.includes('Hello.'), text);
      assert.match(text, END_OF_STREAM[protocol]);
      assert.equal(response.headers.get('x-polygate-path'), protocol === 'messages' ? 'passthrough' : 'translated');
      assert.equal(upstream.calls[0]?.path, '/model/anthropic.m-v1%3A0/invoke-with-response-stream');
      assert.equal(upstream.calls[0]?.headers.accept, 'application/vnd.amazon.eventstream, text/event-stream');
      assert.ok(!text.includes('abcdefghij'), 'padding stays behind');
    });

    test(`tells clients of ${protocol} of an exception in the stream`, async () => {
      const frames = [...MESSAGES_EVENTS.slice(0, 3).map(awsChunk), awsException('throttlingException', 'Slow down.')];
      const { gateway } = await start((_, response) => hello(response, frames));
      const text = await (await ask(gateway, { protocol, model, text: 'Hi', stream: true })).text();
      assert.ok(text.includes('Hello.') && text.includes('Slow down.'), text);
      assert.match(text, /rate_limit|RESOURCE_EXHAUSTED/);
      assert.doesNotMatch(text, END_OF_STREAM[protocol]);
    });

    test(`tells clients of ${protocol} what the headers of an error mean`, async () => {
      const { gateway } = await start((_, response) =>
        answerJson(response, { message: 'Too many tokens a day.' }, 400, {
          'x-amzn-errortype': 'ServiceQuotaExceededException:http://internal/coral/',
        }),
      );
      const response = await ask(gateway, { protocol, model, text: 'Hi' });
      assert.equal(response.status, 429);
      assert.match(await response.text(), /Too many tokens a day/);
    });
  }

  test('an exception before the response begins has the status that it means', async () => {
    const { gateway } = await start((_, response) => hello(response, [awsException('throttlingException', 'Slow.')]));
    assert.equal((await ask(gateway, { protocol: 'messages', model, text: 'Hi', stream: true })).status, 429);
  });

  test('a stream that ends inside a message is an error', async () => {
    const { gateway } = await start((_, response) =>
      hello(response, [Buffer.concat(MESSAGES_EVENTS.map(awsChunk)).subarray(0, -10)]),
    );
    const response = await ask(gateway, { protocol: 'messages', model, text: 'Hi', stream: true });
    assert.match(await response.text(), /event: error/);
  });
});

describe('a platform that frames streams as JSON lines', () => {
  const lines = [
    { candidates: [{ content: { parts: [{ text: 'Hello.' }], role: 'model' } }], modelVersion: 'm' },
    {
      candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      modelVersion: 'm',
    },
  ];
  for (const protocol of ['chat', 'messages', 'generate'] as const) {
    test(`serves clients of ${protocol} their own stream`, async () => {
      const { gateway } = await startRig(
        {
          dialects: [{ protocol: 'generate' }],
          platform: (settings) => ({ ...createHeaderPlatform(settings), framing: 'json-lines' }),
        },
        (_, response) => {
          response.writeHead(200, { 'content-type': 'application/x-ndjson' });
          response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
        },
      );
      const response = await ask(gateway, { protocol, model: 'trial/m', text: 'Hi', stream: true });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.ok(text.includes('Hello.'), text);
      assert.match(text, END_OF_STREAM[protocol]);
    });
  }
});
