import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { wrap } from '../../src/core/opaque.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { methodRoutes } from '../../src/protocols/generate/routes.ts';
import { routed } from './routed.ts';

function action(method: 'GET' | 'POST', path: string) {
  return routed(generate, method, path);
}

describe('paths', () => {
  for (const version of ['v1beta', 'v1', 'v1beta1']) {
    test(`${version} is served`, () => {
      const expected = { type: 'complete', model: 'openai/gpt-4', stream: false };
      assert.deepEqual(action('POST', `/gemini/${version}/models/openai/gpt-4:generateContent`), expected);
    });
  }

  for (const [path, model] of [
    ['models/openai/gpt-4:free:generateContent', 'openai/gpt-4:free'],
    ['openai/gpt-4:generateContent', 'openai/gpt-4'],
    ['models/fireworks/accounts/x/models/y:generateContent', 'fireworks/accounts/x/models/y'],
    ['models/openai%2Fgpt-4:generateContent', 'openai/gpt-4'],
    ['models/a%20b/c:generateContent', 'a b/c'],
    ['publishers/openai/models/gpt-4:generateContent', 'openai/gpt-4'],
    ['projects/p/locations/global/publishers/google/models/gemini:generateContent', 'google/gemini'],
    ['models/gpt-4:generateContent', 'gpt-4'],
  ] as const) {
    test(`${path} names ${model}`, () => {
      assert.deepEqual(action('POST', `/gemini/v1beta/${path}`), { type: 'complete', model, stream: false });
    });
  }

  for (const path of [
    'models/openai/gpt-4',
    'models/:generateContent',
    'models/openai/:generateContent',
    'models/openai%252Fgpt-4:generateContent',
    'models//gpt-4:generateContent',
  ]) {
    test(`${path} is no path`, () => assert.equal(action('POST', `/gemini/v1beta/${path}`), undefined));
  }

  test('dot segments are no path, plain or encoded', () => {
    const prefixes = { messages: 'anthropic', generate: 'gemini' };
    const [route] = methodRoutes(prefixes, { generateContent: { match: () => ({}) } });
    for (const rest of [
      ['models', '..', 'x:generateContent'],
      ['models', '../x:generateContent'],
      ['models', 'a', '..:generateContent'],
    ]) {
      assert.equal(route?.match(rest, new URLSearchParams()), undefined);
    }
  });

  test('streams are events only when asked for', () => {
    const stream = (query: string) => action('POST', `/gemini/v1/models/a/b:streamGenerateContent${query}`);
    assert.deepEqual(stream('?alt=sse'), { type: 'complete', model: 'a/b', stream: true, array: false });
    assert.deepEqual(stream('?$alt=sse'), { type: 'complete', model: 'a/b', stream: true, array: false });
    assert.deepEqual(stream(''), { type: 'complete', model: 'a/b', stream: true, array: true });
  });

  test('counting', () => {
    assert.deepEqual(action('POST', '/gemini/v1/models/a/b:countTokens'), { type: 'count-tokens', model: 'a/b' });
  });

  test('the catalog', () => {
    assert.deepEqual(action('GET', '/gemini/v1beta/models'), { type: 'list-models', page: {} });
    assert.deepEqual(action('GET', '/gemini/v1beta/models?pageSize=2&pageToken=a%2Fb'), {
      type: 'list-models',
      page: { limit: 2, after: 'a/b' },
    });
    assert.deepEqual(action('GET', '/gemini/v1beta/models/openai'), {
      type: 'list-models',
      provider: 'openai',
      page: {},
    });
    assert.deepEqual(action('GET', '/gemini/v1beta/models/openai/gpt-4'), { type: 'get-model', id: 'openai/gpt-4' });
    assert.deepEqual(action('GET', '/gemini/v1beta/models/openai%2Fgpt-4'), { type: 'get-model', id: 'openai/gpt-4' });
    assert.deepEqual(action('GET', '/gemini/v1/publishers/openai/models/gpt-4'), {
      type: 'get-model',
      id: 'openai/gpt-4',
    });
    assert.throws(() => action('GET', '/gemini/v1beta/models?pageSize=many'), /pageSize must be an integer/);
  });

  test('upstream paths keep the slashes of an id and escape the rest', () => {
    assert.equal(
      generate.operations.complete.upstreamPath('gemini-3', false),
      '/v1beta/models/gemini-3:generateContent',
    );
    assert.equal(
      generate.operations.complete.upstreamPath('gemini-3', true),
      '/v1beta/models/gemini-3:streamGenerateContent?alt=sse',
    );
    assert.equal(
      generate.operations['count-tokens'].upstreamPath('a/b c', false),
      '/v1beta/models/a/b%20c:countTokens',
    );
  });
});

test('credentials in every spelling', () => {
  const query = new URLSearchParams('key=query');
  const none = new URLSearchParams();
  const bearer = { authorization: 'Bearer bearer' };
  assert.deepEqual(generate.credentials({ 'x-goog-api-key': 'a', 'x-gen-api-key': 'b', ...bearer }, query), [
    'a',
    'b',
    'query',
    'bearer',
  ]);
  assert.deepEqual(generate.credentials({ 'x-gen-api-key': 'b', ...bearer }, none), ['b', 'bearer']);
  assert.deepEqual(generate.credentials(bearer, query), ['query', 'bearer']);
  assert.deepEqual(generate.credentials(bearer, none), ['bearer']);
  assert.deepEqual(generate.credentials({ authorization: 'Basic x' }, none), []);
});

describe('errors', () => {
  const statusOf = (code: ConstructorParameters<typeof GatewayError>[0]) => {
    const { status, body } = generate.encodeError(new GatewayError(code, 'Why.'), 'req_1');
    return [status, body.error.code, body.error.status];
  };

  test('codes and status names', () => {
    assert.deepEqual(statusOf('invalid_request'), [400, 400, 'INVALID_ARGUMENT']);
    assert.deepEqual(statusOf('unsupported_tool'), [400, 400, 'INVALID_ARGUMENT']);
    assert.deepEqual(statusOf('invalid_api_key'), [401, 401, 'UNAUTHENTICATED']);
    assert.deepEqual(statusOf('insufficient_quota'), [429, 429, 'RESOURCE_EXHAUSTED']);
    assert.deepEqual(statusOf('permission_denied'), [403, 403, 'PERMISSION_DENIED']);
    assert.deepEqual(statusOf('model_not_found'), [404, 404, 'NOT_FOUND']);
    assert.deepEqual(statusOf('payload_too_large'), [400, 400, 'INVALID_ARGUMENT']);
    assert.deepEqual(statusOf('rate_limit_exceeded'), [429, 429, 'RESOURCE_EXHAUSTED']);
    assert.deepEqual(statusOf('overloaded'), [503, 503, 'UNAVAILABLE']);
    assert.deepEqual(statusOf('upstream_error'), [503, 503, 'UNAVAILABLE']);
    assert.deepEqual(statusOf('timeout'), [504, 504, 'DEADLINE_EXCEEDED']);
    assert.deepEqual(statusOf('internal_error'), [500, 500, 'INTERNAL']);
  });

  test('an invalid key has the reason that the official client expects', () => {
    const { body } = generate.encodeError(new GatewayError('invalid_api_key', 'No.'), '');
    assert.equal(body.error.details[0].reason, 'API_KEY_INVALID');
  });

  test('the wait, the field and the request are details', () => {
    const error = new GatewayError('rate_limit_exceeded', 'Slow.', { retryAfter: 1500, param: 'contents' });
    const { details } = generate.encodeError(error, 'req_1').body.error;
    assert.deepEqual(details.slice(1), [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'contents', description: 'Slow.' }],
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' },
      { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 'req_1' },
    ]);
  });

  test('a refused gateway key is an upstream error without details', () => {
    const invalid = {
      code: 400,
      message: 'API key AIzaSyABCDEFGHIJKL not valid',
      details: [{ reason: 'API_KEY_INVALID' }],
    };
    for (const [status, error] of [
      [400, invalid],
      [401, { message: 'x' }],
      [403, { message: 'project 123' }],
    ] as const) {
      const decoded = generate.decodeError(status, { error });
      assert.equal(decoded.code, 'upstream_error');
      assert.match(decoded.message, /refused the credentials/);
    }
  });

  test('upstream errors', () => {
    const decode = (status: number, message?: string, details?: unknown[]) =>
      generate.decodeError(status, { error: { code: status, message, details } });
    assert.equal(decode(400, 'Bad').code, 'invalid_request');
    assert.equal(
      decode(400, 'The input token count (9) exceeds the maximum number of tokens allowed (8).').code,
      'context_length_exceeded',
    );
    assert.equal(decode(404, 'No such model').code, 'model_not_found');
    for (const status of [401, 402, 403])
      assert.deepEqual(
        [decode(status, 'Project 7 is closed').code, /Project/.test(decode(status, 'Project 7').message)],
        ['upstream_error', false],
      );
    assert.equal(decode(503, 'Overloaded').code, 'overloaded');
    assert.equal(decode(429, 'Slow', [{ retryDelay: '34.07s' }]).retryAfter, 34_070);
    for (const retryDelay of ['-5s', '1e999s', 'soon', ''])
      assert.equal(decode(429, 'Slow', [{ retryDelay }]).retryAfter, undefined, retryDelay);
    assert.equal(generate.decodeError(500, '<html>').message, 'The upstream answered with status 500.');
    assert.equal(generate.decodeError(429, [{ error: { message: 'In a list' } }]).message, 'In a list');
    assert.equal(generate.errorIn({ candidates: [] }), undefined);
    assert.equal(generate.errorIn({ error: { code: 429, message: 'Slow' } })?.code, 'rate_limit_exceeded');
  });
});

describe('watching a relayed answer', () => {
  test('the end of a stream', () => {
    const end = (body: unknown) =>
      generate.operations.complete.isEnd({ data: typeof body === 'string' ? body : JSON.stringify(body) });
    assert.equal(end({ candidates: [{ content: {}, finishReason: 'STOP' }] }), true);
    assert.equal(end({ promptFeedback: { blockReason: 'SAFETY' } }), true);
    assert.equal(end({ candidates: [{ content: { parts: [{ text: '"finishReason"' }] } }] }), false);
    assert.equal(end('"finishReason" cut'), false);
  });

  test('token counts', () => {
    assert.equal(generate.operations.complete.usageOf({ usageMetadata: { trafficType: 'ON_DEMAND' } }), undefined);
    assert.deepEqual(
      generate.operations.complete.usageOf({ usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 3 } }),
      {
        input: 5,
        output: 3,
        reasoning: 3,
      },
    );
    assert.equal(generate.operations['count-tokens']?.decodeCount({ totalTokens: 7 }), 7);
    assert.deepEqual(generate.operations['count-tokens']?.encodeCount(7), { totalTokens: 7 });
  });

  test('wrapped state of the provider is unwrapped, other state is removed', () => {
    const own = wrap({ kind: 'signature', value: 'OWN', origin: 'google/gemini' });
    const other = wrap({ kind: 'signature', value: 'OTHER', origin: 'anthropic/claude' });
    const body = {
      contents: [
        {
          role: 'model',
          parts: [
            { text: 'Hm.', thought: true, thoughtSignature: other },
            { text: 'a', thoughtSignature: own },
            { text: 'b', thought_signature: other },
            { functionCall: { name: 'f' }, thoughtSignature: other },
            { functionCall: { name: 'g' }, thoughtSignature: 'RAW' },
          ],
        },
      ],
    };
    assert.equal(generate.operations.complete.state?.restore(body, 'google/gemini'), true);
    assert.deepEqual(body.contents[0]?.parts, [
      { text: 'a', thoughtSignature: 'OWN' },
      { text: 'b' },
      { functionCall: { name: 'f' }, thoughtSignature: 'skip_thought_signature_validator' },
      { functionCall: { name: 'g' }, thoughtSignature: 'RAW' },
    ]);
    assert.equal(generate.operations.complete.state?.restore(body, 'google/gemini'), false);
  });
});

test('the catalog has the format of the protocol', () => {
  const model: CatalogModel = {
    id: 'openai/gpt-4',
    provider: 'openai',
    upstreamId: 'gpt-4',
    canonicalSlug: 'openai/gpt-4-2023',
    name: 'GPT-4',
    description: 'A model.',
    created: 1,
    ownedBy: 'openai',
    version: '2023',
    contextLength: 8192,
    maxOutput: 4096,
    inputModalities: ['text', 'image'],
    outputModalities: ['text'],
    tokenizer: 'GPT',
    instructType: null,
    pricing: { prompt: '0.00003' },
    isModerated: true,
    supportedParameters: ['temperature'],
    expirationDate: null,
    rules: {},
  };
  const encoded = generate.encodeModel(model);
  assert.deepEqual(encoded, {
    name: 'models/openai/gpt-4',
    version: '2023',
    displayName: 'GPT-4',
    description: 'A model.',
    inputTokenLimit: 8192,
    outputTokenLimit: 4096,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    ownedBy: 'openai',
    canonicalSlug: 'openai/gpt-4-2023',
    contextLength: 8192,
    architecture: {
      modality: 'text+image->text',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      tokenizer: 'GPT',
      instruct_type: null,
    },
    pricing: { prompt: '0.00003' },
    topProvider: { context_length: 8192, max_completion_tokens: 4096, is_moderated: true },
    supportedParameters: ['temperature'],
    expirationDate: null,
  });
  assert.deepEqual(generate.encodeModels([encoded], { more: false, total: 1 }), { models: [encoded] });
  assert.equal(generate.encodeModels([encoded], { more: true, total: 1 }).nextPageToken, 'openai/gpt-4');
});

test('a hub parameter has the client’s name', () => {
  assert.equal(generate.parameterName('topK'), 'generationConfig.topK');
  assert.equal(generate.parameterName('turns'), 'contents');
  assert.equal(generate.parameterName('reasoning.budget'), 'generationConfig.thinkingConfig.thinkingBudget');
  assert.equal(generate.parameterName('tools.x'), 'tools.x');
});
