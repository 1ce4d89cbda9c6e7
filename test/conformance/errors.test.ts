/** Conformance: what goes wrong, in the words of each protocol. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { ERRORS, type ErrorCode, GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import { errorResponse } from '../../src/http/errors.ts';
import { type Answerer, answerJson, ask, type ProtocolId, type UpstreamCall } from '../gateway/harness.ts';
import { translatedProtocols as protocols } from '../translated-protocols.ts';
import { checkStream } from '../validators/index.ts';
import { frame, named, SPEAKERS } from './answers.ts';
import { type Got, IDS, MODELS, type Sent, send, useRig } from './rig.ts';

const rig = useRig({ yaml: 'server: { body_limit: 64KiB }' });
const impatient = useRig({ yaml: 'server: { deadlines: { first_byte: 100ms } }' });

/** Status, `type` and `code` of chat completions; status and `type` of messages; status and `status` of generate. */
type Names = { chat: [number, string, string?]; messages: [number, string]; generate: [number, string] };

const INVALID = 'invalid_request_error';

/** Table 4.7. */
const KINDS = {
  invalid: {
    chat: [400, INVALID],
    messages: [400, INVALID],
    generate: [400, 'INVALID_ARGUMENT'],
  },
  unsupported: {
    chat: [400, INVALID, 'unsupported_parameter'],
    messages: [400, INVALID],
    generate: [400, 'INVALID_ARGUMENT'],
  },
  'context too long': {
    chat: [400, INVALID, 'context_length_exceeded'],
    messages: [400, INVALID],
    generate: [400, 'INVALID_ARGUMENT'],
  },
  'bad key': {
    chat: [401, INVALID, 'invalid_api_key'],
    messages: [401, 'authentication_error'],
    generate: [401, 'UNAUTHENTICATED'],
  },
  'no credit': {
    chat: [402, 'insufficient_quota', 'insufficient_quota'],
    messages: [402, 'billing_error'],
    generate: [429, 'RESOURCE_EXHAUSTED'],
  },
  forbidden: {
    chat: [403, 'permission_error'],
    messages: [403, 'permission_error'],
    generate: [403, 'PERMISSION_DENIED'],
  },
  'unknown model': {
    chat: [404, INVALID, 'model_not_found'],
    messages: [404, 'not_found_error'],
    generate: [404, 'NOT_FOUND'],
  },
  'unknown path': {
    chat: [404, INVALID],
    messages: [404, 'not_found_error'],
    generate: [404, 'NOT_FOUND'],
  },
  'too large': {
    chat: [413, INVALID],
    messages: [413, 'request_too_large'],
    generate: [400, 'INVALID_ARGUMENT'],
  },
  'rate limit': {
    chat: [429, 'rate_limit_error', 'rate_limit_exceeded'],
    messages: [429, 'rate_limit_error'],
    generate: [429, 'RESOURCE_EXHAUSTED'],
  },
  overloaded: {
    chat: [503, 'service_unavailable_error', 'server_is_overloaded'],
    messages: [529, 'overloaded_error'],
    generate: [503, 'UNAVAILABLE'],
  },
  'upstream failure': {
    chat: [502, 'server_error', 'upstream_error'],
    messages: [500, 'api_error'],
    generate: [503, 'UNAVAILABLE'],
  },
  timeout: {
    chat: [504, 'server_error', 'timeout'],
    messages: [504, 'timeout_error'],
    generate: [504, 'DEADLINE_EXCEEDED'],
  },
  'client gone': {
    chat: [499, INVALID],
    messages: [499, 'api_error'],
    generate: [499, 'CANCELLED'],
  },
  'gateway bug': {
    chat: [500, 'server_error'],
    messages: [500, 'api_error'],
    generate: [500, 'INTERNAL'],
  },
} satisfies Record<string, Names>;

type Kind = keyof typeof KINDS;

function assertNames(protocol: ProtocolId, status: number, body: Json, kind: Kind): void {
  const [expected, ...names] = KINDS[kind][protocol];
  assert.equal(status, expected, JSON.stringify(body));
  assert.ok(typeof body.error.message === 'string' && body.error.message !== '');
  switch (protocol) {
    case 'chat':
      assert.deepEqual([body.error.type, body.error.code].slice(0, names.length), names);
      assert.ok(typeof body.error.code === 'string' && 'param' in body.error);
      break;
    case 'messages':
      assert.deepEqual([body.type, body.error.type], ['error', ...names]);
      assert.match(body.request_id, /^req_/);
      break;
    case 'generate':
      assert.deepEqual([body.error.code, body.error.status], [status, ...names]);
  }
}

function assertError(protocol: ProtocolId, { status, headers, text }: Got, kind: Kind): Json {
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.ok(headers.get(protocol === 'messages' ? 'request-id' : 'x-request-id'));
  const body = JSON.parse(text);
  assertNames(protocol, status, body, kind);
  return body;
}

const eventStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

interface UpstreamError {
  status: number;
  body: Json;
  headers?: Record<string, string>;
}

const chatError = (status: number, type: string, code: string, message = 'No.'): UpstreamError => ({
  status,
  body: { error: { message, type, code, param: null } },
});
const messagesError = (status: number, type: string, message = 'No.'): UpstreamError => ({
  status,
  body: { type: 'error', error: { type, message }, request_id: 'req_upstream' },
});
const generateError = (code: number, status: string, message = 'No.'): UpstreamError => ({
  status: code,
  body: { error: { code, message, status } },
});

/** How upstreams of each protocol say it. */
const SAID: Partial<Record<Kind, Record<ProtocolId, UpstreamError>>> = {
  'context too long': {
    chat: chatError(400, INVALID, 'context_length_exceeded', "This model's maximum context length is 10 tokens."),
    messages: messagesError(400, INVALID, 'prompt is too long: 20 tokens > 10 maximum'),
    generate: generateError(
      400,
      'INVALID_ARGUMENT',
      'The input token count (20) exceeds the maximum number of tokens allowed (10).',
    ),
  },
  'rate limit': {
    chat: chatError(429, 'rate_limit_error', 'rate_limit_exceeded'),
    messages: messagesError(429, 'rate_limit_error'),
    generate: generateError(429, 'RESOURCE_EXHAUSTED'),
  },
  overloaded: {
    chat: chatError(503, 'service_unavailable_error', 'server_is_overloaded'),
    messages: messagesError(529, 'overloaded_error'),
    generate: generateError(503, 'UNAVAILABLE'),
  },
  'upstream failure': {
    chat: chatError(500, 'server_error', 'internal'),
    messages: messagesError(500, 'api_error'),
    generate: generateError(500, 'INTERNAL'),
  },
};

function refuse({ status, body, headers }: UpstreamError): Answerer {
  return (_call, response) => answerJson(response, body, status, headers);
}

describe('kinds of errors', () => {
  /** What the gateway itself finds wrong. */
  const OWN: [kind: Kind, request: (protocol: ProtocolId) => Omit<Sent, 'protocol'>][] = [
    ['invalid', (protocol) => ({ model: MODELS[protocol], change: { messages: 5, contents: 5 } })],
    ['bad key', () => ({ model: 'a/m', headers: Object.fromEntries(Object.keys(AUTH).map((name) => [name, 'x'])) })],
    ['unknown model', () => ({ model: 'a/unknown' })],
    ['unknown path', (protocol) => ({ model: 'a/m', path: NOWHERE[protocol] })],
    ['too large', () => ({ model: 'a/m', change: { x: 'y'.repeat(70_000) } })],
  ];
  const NOWHERE = { chat: '/v1/nothing', messages: '/anthropic/v1/nothing', generate: '/gemini/v9/models/a/m:x' };
  const AUTH = { authorization: '', 'x-api-key': '', 'x-goog-api-key': '' };

  for (const protocol of IDS) {
    for (const [kind, request] of OWN) {
      test(`checklist 80: ${kind} on ${protocol}`, async () => {
        assertError(protocol, await send(rig, { protocol, ...request(protocol) }), kind);
        assert.equal(rig.upstream.calls.length, 0);
      });
    }

    for (const upstream of IDS) {
      const sent = { protocol, model: MODELS[upstream] };
      for (const [kind, said] of Object.entries(SAID) as [Kind, Record<ProtocolId, UpstreamError>][]) {
        for (const stream of [false, true]) {
          test(`checklist 80: ${kind} of ${upstream} on ${protocol}, ${stream ? 'streamed' : 'whole'}`, async () => {
            rig.answer(refuse(said[upstream]));
            const body = assertError(protocol, await send(rig, { ...sent, stream }), kind);
            if (kind === 'context too long' && protocol === 'messages') {
              assert.match(body.error.message, /prompt is too long/);
            }
          });
        }
      }

      for (const status of [401, 403]) {
        test(`checklist 81: the gateway’s own key is rejected (${status}) by ${upstream}, on ${protocol}`, async () => {
          const words = 'Incorrect API key provided: upstream-key-1, organization org-1234567890.';
          const { body } = {
            chat: chatError(status, INVALID, 'invalid_api_key', words),
            messages: messagesError(status, 'authentication_error', words),
            generate: generateError(status, 'UNAUTHENTICATED', words),
          }[upstream];
          rig.answer(refuse({ status, body }));
          for (const stream of [false, true]) {
            const got = await send(rig, { ...sent, stream });
            assertError(protocol, got, 'upstream failure');
            assert.ok(!got.text.includes('upstream-key') && !got.text.includes('org-'), got.text);
          }
        });
      }

      const pages: Record<string, [status: number, type: string, body: string]> = {
        'an HTML page': [502, 'text/html', '<html><body><h1>502 Bad Gateway</h1></body></html>'],
        nothing: [500, 'text/plain', ''],
        'half of a JSON body': [500, 'application/json', '{"error": {"mess'],
        'a JSON text': [500, 'application/json', '"oops"'],
        'an HTML page and 200': [200, 'text/html', '<html>Welcome</html>'],
        'nothing and 200': [200, 'application/json', ''],
      };
      for (const [name, [status, type, text]] of Object.entries(pages)) {
        test(`checklist 85: ${upstream} answers with ${name}, on ${protocol}`, async () => {
          rig.answer((_call, response) => void response.writeHead(status, { 'content-type': type }).end(text));
          for (const stream of [false, true]) {
            const got = await send(rig, { ...sent, stream });
            assertError(protocol, got, 'upstream failure');
            assert.ok(!got.text.includes('<h'), got.text);
          }
        });
      }
    }
  }

  test('checklist 80: upstreams that are too slow, of all protocols on all surfaces', async () => {
    impatient.answer(() => {});
    const pairs = IDS.flatMap((protocol) => IDS.map((upstream) => ({ protocol, model: MODELS[upstream] })));
    const answers = await Promise.all(pairs.map((sent) => send(impatient, sent)));
    for (const [index, got] of answers.entries()) assertError(pairs[index]?.protocol ?? 'chat', got, 'timeout');
  });

  test('checklist 80: what is not supported, on every surface', async () => {
    const sent: Sent[] = [
      { protocol: 'chat', model: 'b/m', change: { n: 2 } },
      { protocol: 'messages', model: 'a/m', change: { tools: [{ type: 'bash_20250124', name: 'bash' }] } },
      { protocol: 'generate', model: 'b/m', change: { generationConfig: { candidateCount: 2 } } },
    ];
    for (const request of sent) assertError(request.protocol, await send(rig, request), 'unsupported');
  });

  const unprovoked: [kind: Kind, code: ErrorCode][] = [
    ['no credit', 'insufficient_quota'],
    ['forbidden', 'permission_denied'],
    ['client gone', 'client_closed'],
    ['gateway bug', 'internal_error'],
  ];
  for (const protocol of protocols) {
    for (const [kind, code] of unprovoked) {
      test(`checklist 80: ${kind} as ${protocol.id} spells it`, () => {
        const { status, body } = protocol.encodeError(new GatewayError(code, 'No.'), 'req_1');
        assertNames(protocol.id as ProtocolId, status, body, kind);
      });
    }
  }
});

describe('before the first event', () => {
  for (const protocol of IDS) {
    for (const upstream of IDS) {
      for (const comments of ['', ': waiting\n\n']) {
        test(`checklist 82: ${upstream} begins with ${comments && 'a comment and '}an error, for ${protocol}`, async () => {
          const { body } = SAID.overloaded?.[upstream] ?? assert.fail();
          rig.answer((_call, response) => {
            eventStream(response).end(comments + (upstream === 'messages' ? named(body) : frame(body)));
          });
          assertError(protocol, await send(rig, { protocol, model: MODELS[upstream], stream: true }), 'overloaded');
        });
      }
    }
  }

  test('checklist 82: an error after the head of a messages answer still has its status for others', async () => {
    const start = SPEAKERS.messages.stream({ text: 'Hello' }).split(/(?<=\n\n)/)[0] ?? '';
    const { body } = SAID.overloaded?.messages ?? assert.fail();
    rig.answer((_call, response) => void eventStream(response).end(start + named(body)));
    for (const protocol of ['chat', 'generate'] as const) {
      assertError(protocol, await send(rig, { protocol, model: 'b/m', stream: true }), 'overloaded');
    }
  });
});

describe('when to try again', () => {
  const waits: [headers: Record<string, string>, seconds: number, milliseconds: number][] = [
    [{}, 1, 1000],
    [{ 'retry-after': '7' }, 7, 7000],
    [{ 'retry-after-ms': '2500' }, 3, 2500],
    [{ 'retry-after': '86400' }, 60, 60_000],
    [{ 'retry-after': 'soon' }, 1, 1000],
  ];
  for (const protocol of IDS) {
    for (const upstream of IDS) {
      for (const [headers, seconds, milliseconds] of waits) {
        test(`checklist 83: ${JSON.stringify(headers)} of ${upstream} for ${protocol}`, async () => {
          rig.answer(refuse({ ...(SAID['rate limit']?.[upstream] ?? assert.fail()), headers }));
          const got = await send(rig, { protocol, model: MODELS[upstream] });
          assert.equal(got.status, 429);
          assert.equal(got.headers.get('retry-after'), String(seconds));
          assert.equal(got.headers.get('retry-after-ms'), String(milliseconds));
          assert.notEqual(got.headers.get('x-should-retry'), 'false');
        });
      }
    }

    test(`checklist 83: a conflict is not tried again on ${protocol}`, async () => {
      for (const upstream of IDS) {
        const said = { chat: chatError(409, INVALID, 'conflict'), messages: messagesError(409, INVALID) };
        rig.answer(refuse({ ...said, generate: generateError(409, 'ABORTED') }[upstream]));
        const got = await send(rig, { protocol, model: MODELS[upstream] });
        assert.ok(got.status >= 400 && got.status < 500);
        assert.equal(got.headers.get('x-should-retry'), 'false');
      }
    });
  }

  for (const protocol of protocols) {
    test(`checklist 83: no kind that cannot succeed later is tried again by clients of ${protocol.id}`, () => {
      for (const [code, { retryable }] of Object.entries(ERRORS)) {
        const { status, headers } = errorResponse(new GatewayError(code as ErrorCode, 'No.'), protocol, 'req_1');
        assert.equal(headers['x-should-retry'], retryable ? undefined : 'false', code);
        if (retryable) assert.ok([408, 429, 500, 502, 503, 504, 529].includes(status), code);
      }
    });
  }
});

describe('a client that leaves', () => {
  for (const upstream of IDS) {
    for (const protocol of IDS) {
      for (const begun of [false, true]) {
        test(`checklist 84: ${begun ? 'during' : 'before'} an answer of ${upstream} on ${protocol}`, async () => {
          const leave = new AbortController();
          const asked = Promise.withResolvers<UpstreamCall>();
          rig.answer((call, response) => {
            const text = SPEAKERS[upstream].stream({ text: 'Hello' });
            if (begun) eventStream(response).write(text.slice(0, text.indexOf('\n\n', text.indexOf('Hel')) + 2));
            asked.resolve(call);
          });
          const before = rig.gateway.log.length;
          const client = ask(rig.gateway, {
            ...{ protocol, model: MODELS[upstream], text: 'hi', stream: true, signal: leave.signal },
          });
          if (begun) for await (const _chunk of (await client).body ?? []) break;
          const { closed } = await asked.promise;
          const started = performance.now();
          leave.abort();
          await client.catch(() => undefined);
          assert.equal(await closed, 'aborted');
          assert.ok(performance.now() - started < 10_000);
          const lines = rig.gateway.log.slice(before);
          assert.deepEqual(
            lines.filter(({ level }) => level > 30),
            [],
            'it was logged as a problem',
          );
        });
      }
    }
  }
});

test('checklist 80: an error inside a stream has the names of the table too', async () => {
  for (const protocol of IDS) {
    for (const upstream of IDS) {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const { body } = SAID.overloaded?.[upstream] ?? assert.fail();
      const error = upstream === 'messages' ? named(body) : frame(body);
      const begun = stream.slice(0, stream.indexOf('\n\n', stream.indexOf('Hel')) + 2);
      rig.answer((_call, response) => void eventStream(response).end(begun + error));
      const { text } = await send(rig, { protocol, model: MODELS[upstream], stream: true });
      if (protocol === upstream) continue;
      const { ending, data } = checkStream(protocol, text);
      assert.equal(ending, 'error');
      assertNames(protocol, KINDS.overloaded[protocol][0], data.at(-1), 'overloaded');
    }
  }
});
