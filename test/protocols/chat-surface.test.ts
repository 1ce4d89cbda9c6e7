/** Chat completions beside the conversation: paths, keys, catalog, errors. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERRORS, type ErrorCode, GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { catalogRoutes } from '../../src/protocols/chat/catalog-routes.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { routed } from './routed.ts';

function action(method: 'GET' | 'POST', path: string, rest: string[], query = '') {
  const routes = [...catalogRoutes, ...chat.operations.complete.routes({ messages: 'm', generate: 'g' })];
  const route = routes.find((candidate) => candidate.method === method && candidate.path === path);
  return route?.match(rest, new URLSearchParams(query));
}

describe('paths', () => {
  test('completions', () => {
    assert.deepEqual(routed(chat, 'POST', '/v1/chat/completions'), { type: 'complete' });
    assert.equal(action('POST', '/v1/chat/completions', ['more']), undefined);
  });

  test('lists all models, and the models of a provider', () => {
    assert.equal(routed(chat, 'GET', '/v1/models')?.type, 'list-models');
    const listing = action('GET', '/v1/models', ['openai'], 'limit=20&after=openai/a');
    assert.deepEqual(listing, { type: 'list-models', provider: 'openai', page: { limit: 20, after: 'openai/a' } });
  });

  for (const rest of [['fireworks', 'accounts', 'x', 'y'], ['fireworks/accounts/x/y'], ['fireworks', 'accounts/x/y']]) {
    test(`a model whose id holds slashes, as ${rest.length} segments`, () => {
      assert.deepEqual(action('GET', '/v1/models', rest), { type: 'get-model', id: 'fireworks/accounts/x/y' });
    });
  }

  for (const rest of [['..', 'x'], ['openai', '..'], ['openai', ''], ['openai%2Fgpt'], ['a/../b']]) {
    test(`no such path: ${JSON.stringify(rest)}`, () => assert.equal(action('GET', '/v1/models', rest), undefined));
  }

  for (const limit of ['0', '-1', 'many', '1.5', '9999']) {
    test(`limit ${limit} is refused by name`, () => {
      assert.throws(() => action('GET', '/v1/models', [], `limit=${limit}`), {
        code: 'invalid_request',
        param: 'limit',
      });
    });
  }
});

describe('keys', () => {
  const none = new URLSearchParams();

  test('bearer in any case, and api-key', () => {
    assert.deepEqual(chat.credentials({ authorization: 'Bearer one' }, none), ['one']);
    assert.deepEqual(chat.credentials({ authorization: 'bearer two', 'api-key': 'three' }, none), ['two', 'three']);
    assert.deepEqual(chat.credentials({ 'api-key': 'three' }, none), ['three']);
  });

  test('key headers of other protocols are ignored', () => {
    assert.deepEqual(chat.credentials({ 'x-api-key': 'a', 'x-goog-api-key': 'b' }, new URLSearchParams('key=c')), []);
    assert.deepEqual(chat.credentials({ authorization: 'Basic abc' }, none), []);
  });
});

const MODEL: CatalogModel = {
  id: 'acme/one',
  provider: 'acme',
  upstreamId: 'one-2026',
  canonicalSlug: 'acme/one-2026-01-01',
  name: 'One',
  description: 'The first.',
  created: 1_700_000_000,
  ownedBy: 'acme',
  version: '1',
  contextLength: 1000,
  maxOutput: 100,
  inputModalities: ['text', 'image', 'file'],
  outputModalities: ['text'],
  tokenizer: 'Other',
  instructType: null,
  pricing: { prompt: '0.000001', completion: '0.000002' },
  isModerated: false,
  supportedParameters: ['tools'],
  expirationDate: null,
  rules: {},
};

test('a model of the catalog', () => {
  assert.deepEqual(chat.encodeModel(MODEL), {
    id: 'acme/one',
    object: 'model',
    created: 1_700_000_000,
    owned_by: 'acme',
    canonical_slug: 'acme/one-2026-01-01',
    name: 'One',
    description: 'The first.',
    context_length: 1000,
    architecture: {
      modality: 'text+image+file->text',
      input_modalities: ['text', 'image', 'file'],
      output_modalities: ['text'],
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing: { prompt: '0.000001', completion: '0.000002' },
    top_provider: { context_length: 1000, max_completion_tokens: 100, is_moderated: false },
    per_request_limits: null,
    supported_parameters: ['tools'],
    default_parameters: null,
    expiration_date: null,
    links: { details: '/v1/models/acme/one' },
    supported_voices: null,
  });
  const list = { object: 'list', data: [1], total_count: 1 };
  assert.deepEqual(chat.encodeModels([1], { more: false, total: 1 }), { ...list, links: { next: null } });
  assert.deepEqual(chat.encodeModels([{ id: 'p/m' }], { more: true, total: 9, provider: 'p', limit: 1 }), {
    ...{ object: 'list', data: [{ id: 'p/m' }], total_count: 9, has_more: true },
    links: { next: '/v1/models/p?limit=1&after=p%2Fm' },
  });
});

describe('errors for clients', () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    test(code, () => {
      const { status, body } = chat.encodeError(new GatewayError(code, 'Words.', { param: 'field' }), 'req_1');
      assert.equal(status, ERRORS[code].status);
      assert.deepEqual(Object.keys(body), ['error']);
      assert.equal(body.error.message, 'Words.');
      assert.equal(body.error.param, 'field');
      assert.equal(typeof body.error.type, 'string');
      // As OpenAI has it.
      if (code === 'response_not_found' || code === 'conversation_not_found') assert.equal(body.error.code, null);
      else assert.equal(typeof body.error.code, 'string');
    });
  }

  const names: [ErrorCode, string, string][] = [
    ['invalid_api_key', 'invalid_request_error', 'invalid_api_key'],
    ['insufficient_quota', 'insufficient_quota', 'insufficient_quota'],
    ['model_not_found', 'invalid_request_error', 'model_not_found'],
    ['rate_limit_exceeded', 'rate_limit_error', 'rate_limit_exceeded'],
    ['overloaded', 'service_unavailable_error', 'server_is_overloaded'],
    ['upstream_error', 'server_error', 'upstream_error'],
    ['timeout', 'server_error', 'timeout'],
  ];
  for (const [code, type, name] of names) {
    test(`${code} is ${type} / ${name}`, () => {
      const { error } = chat.encodeError(new GatewayError(code, 'Words.'), 'req_1').body;
      assert.deepEqual([error.type, error.code, error.param], [type, name, null]);
    });
  }
});

describe('errors of upstreams', () => {
  const cases: [string, number, unknown, ErrorCode, RegExp][] = [
    [
      'the official shape',
      400,
      { error: { message: 'Bad field', type: 'invalid_request_error', param: 'stop' } },
      'invalid_request',
      /^Bad field$/,
    ],
    [
      'a context that is too long, by code',
      400,
      { error: { message: 'x', code: 'context_length_exceeded' } },
      'context_length_exceeded',
      /x/,
    ],
    [
      'a context that is too long, by words',
      400,
      { error: { message: 'This endpoint’s maximum context length is 8192' } },
      'context_length_exceeded',
      /8192/,
    ],
    ['content policy', 400, { error: { message: 'x', code: 'content_filter' } }, 'content_policy_violation', /x/],
    [
      'content policy, one level down',
      400,
      { error: { message: 'x', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
      'content_policy_violation',
      /x/,
    ],
    [
      'a flat body',
      422,
      { object: 'error', message: 'flat', type: 'invalid_request_error' },
      'invalid_request',
      /^flat$/,
    ],
    ['a list', 404, [{ error: { message: 'listed', status: 'NOT_FOUND' } }], 'model_not_found', /^listed$/],
    ['a bare string', 400, { error: 'words' }, 'invalid_request', /^words$/],
    [
      'details of a validator',
      422,
      { detail: [{ loc: ['body'], msg: 'field required' }] },
      'invalid_request',
      /field required/,
    ],
    ['a web page', 502, '<html>Bad gateway</html>', 'upstream_error', /status 502/],
    ['nothing', 500, undefined, 'upstream_error', /status 500/],
    ['a rate limit', 429, { error: { message: 'slow', code: 429 } }, 'rate_limit_exceeded', /slow/],
    ['an overload', 503, { error: { message: 'busy' } }, 'overloaded', /busy/],
    [
      'our own credit',
      429,
      { error: { message: 'secret', type: 'insufficient_quota' } },
      'upstream_error',
      /^The provider refused/,
    ],
    [
      'our own key',
      401,
      { error: { message: 'Incorrect key sk-abcdefgh' } },
      'upstream_error',
      /^The provider refused/,
    ],
    ['our own rights', 403, { error: { message: 'account acct-12345678' } }, 'upstream_error', /^The provider refused/],
    ['our own bill', 402, {}, 'upstream_error', /^The provider refused/],
  ];
  for (const [name, status, body, code, message] of cases) {
    test(name, () => {
      const error = chat.decodeError(status, body);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.equal(error.upstreamStatus, status);
    });
  }

  test('keys and addresses are redacted', () => {
    const { message } = chat.decodeError(400, {
      error: { message: 'at https://internal.example/x with sk-abcdef123456' },
    });
    assert.doesNotMatch(message, /internal|sk-/);
  });

  const found: [string, Json, ErrorCode | undefined][] = [
    ['an answer', { choices: [] }, undefined],
    ['a null', { error: null, choices: [] }, undefined],
    ['an error beside choices', { error: { code: 502, message: 'x' }, choices: [{}] }, 'upstream_error'],
    ['a numeric code', { error: { code: 429, message: 'x' } }, 'rate_limit_exceeded'],
    ['a name', { error: { type: 'rate_limit_error', message: 'x' } }, 'rate_limit_exceeded'],
    ['no name', { error: { message: 'x' } }, 'upstream_error'],
    ['one in another member', { x_groq: { error: 'x' } }, 'upstream_error'],
  ];
  for (const [name, body, code] of found) {
    test(`in a 200: ${name}`, () => assert.equal(chat.errorIn(body)?.code, code));
  }
});

test('names of hub parameters', () => {
  const names = [
    'topK',
    'maxTokens',
    'turns',
    'reasoning.effort',
    'format.schema',
    'parallelCalls',
    'tools.parameters',
  ];
  assert.deepEqual(names.map(chat.parameterName), [
    'top_k',
    'max_tokens',
    'messages',
    'reasoning_effort',
    'response_format.json_schema.schema',
    'parallel_tool_calls',
    'tools.function.parameters',
  ]);
});

test('a usage frame is detected by its mark with any white space', () => {
  for (const text of ['{"usage":{"prompt_tokens":1}}', '{"usage": {"completion_tokens": 2, "prompt_tokens": 1}}']) {
    assert.ok(chat.operations.complete.usageMarks.some((mark) => text.includes(mark)));
    assert.equal(chat.operations.complete.usageOf(JSON.parse(text))?.input, 1);
  }
});
