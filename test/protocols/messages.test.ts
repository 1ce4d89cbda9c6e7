/** The messages protocol around its bodies: paths, credentials, versions, errors, catalog, names and counts. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERRORS, type ErrorCode, GatewayError } from '../../src/core/errors.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { catalogRoutes } from '../../src/protocols/messages/catalog-routes.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { routed } from './routed.ts';

const none = new URLSearchParams();

describe('endpoints', () => {
  test('messages and counting with and without v1, whatever the query says', () => {
    for (const path of ['/anthropic/v1/messages', '/anthropic/messages']) {
      assert.deepEqual(routed(messages, 'POST', `${path}?beta=true&x=1`), { type: 'complete' });
      assert.deepEqual(routed(messages, 'POST', `${path}/count_tokens`), { type: 'count-tokens' });
      assert.equal(routed(messages, 'POST', `${path}/batches`), undefined);
    }
  });

  test('models: all, of a provider, one', () => {
    const [models] = catalogRoutes({ messages: 'anthropic', generate: 'gemini' });
    assert.equal(models?.path, '/anthropic/v1/models');
    assert.deepEqual(models.match([], none), { type: 'list-models', page: {} });
    assert.deepEqual(models.match(['openai'], none), { type: 'list-models', provider: 'openai', page: {} });
    assert.deepEqual(models.match(['openai', 'gpt-4'], none), { type: 'get-model', id: 'openai/gpt-4' });
    assert.deepEqual(models.match(['openai/gpt-4'], none), { type: 'get-model', id: 'openai/gpt-4' });
    const long = { type: 'get-model', id: 'fireworks/accounts/x/models/y' } as const;
    assert.deepEqual(models.match(['fireworks', 'accounts', 'x', 'models', 'y'], none), long);
  });

  test('unknown paths match no route', () => {
    const [models] = catalogRoutes({ messages: 'anthropic', generate: 'gemini' });
    assert.equal(models?.path, '/anthropic/v1/models');
    for (const rest of [['..', 'x'], ['openai', ''], [''], ['a/../b']])
      assert.equal(models.match(rest, none), undefined);
  });

  test('paging', () => {
    const [models] = catalogRoutes({ messages: 'anthropic', generate: 'gemini' });
    assert.equal(models?.path, '/anthropic/v1/models');
    const page = { limit: 1000, after: 'a/b', before: 'c/d' };
    const query = new URLSearchParams('limit=1000&after_id=a/b&before_id=c/d&other=1');
    assert.deepEqual(models.match([], query), { type: 'list-models', page });
    for (const limit of ['0', '1001', '-1', '1.5', 'x', '']) {
      assert.throws(() => models.match([], new URLSearchParams({ limit })), /between 1 and 1000/, limit);
    }
  });
});

describe('headers', () => {
  test('x-api-key and a bearer token are keys', () => {
    assert.deepEqual(messages.credentials({ 'x-api-key': 'one', authorization: 'Bearer two' }, none), ['one', 'two']);
    assert.deepEqual(messages.credentials({ authorization: 'bearer two' }, none), ['two']);
    assert.deepEqual(messages.credentials({ authorization: 'Basic two' }, none), []);
    assert.deepEqual(messages.credentials({ 'x-api-key': ' ' }, none), []);
  });

  test('a known version under either name', () => {
    for (const name of ['anthropic-version', 'msg-protocol-version']) {
      for (const version of ['2023-06-01', '2026-10-21']) messages.checkHeaders?.({ [name]: version });
    }
  });

  test('a missing or unknown version names both', () => {
    for (const headers of [{}, { 'anthropic-version': '2020-01-01' }, { 'msg-protocol-version': '' }]) {
      assert.throws(
        () => messages.checkHeaders?.(headers),
        (error: GatewayError) => error.code === 'invalid_request' && /2023-06-01 or 2026-10-21/.test(error.message),
      );
    }
  });
});

describe('errors for clients', () => {
  const expected: Partial<Record<ErrorCode, [number, string]>> = {
    invalid_request: [400, 'invalid_request_error'],
    unsupported_tool: [400, 'invalid_request_error'],
    invalid_api_key: [401, 'authentication_error'],
    insufficient_quota: [402, 'billing_error'],
    permission_denied: [403, 'permission_error'],
    model_not_found: [404, 'not_found_error'],
    payload_too_large: [413, 'request_too_large'],
    rate_limit_exceeded: [429, 'rate_limit_error'],
    client_closed: [499, 'api_error'],
    internal_error: [500, 'api_error'],
    upstream_error: [500, 'api_error'],
    timeout: [504, 'timeout_error'],
    overloaded: [529, 'overloaded_error'],
  };

  for (const [code, [status, type]] of Object.entries(expected)) {
    test(code, () => {
      const { status: sent, body } = messages.encodeError(new GatewayError(code as ErrorCode, 'Words.'), 'req_1');
      assert.equal(sent, status);
      assert.deepEqual(body, { type: 'error', error: { type, message: 'Words.' }, request_id: 'req_1' });
    });
  }

  test('every code has a type', () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      assert.match(
        messages.encodeError(new GatewayError(code, 'x'), 'r').body.error.type,
        /_error$|^request_too_large$/,
      );
    }
  });

  test('a full context has the message that clients recognise', () => {
    const { body } = messages.encodeError(new GatewayError('context_length_exceeded', '9 tokens, 8 at most.'), 'r');
    assert.equal(body.error.message, 'prompt is too long: 9 tokens, 8 at most.');
  });
});

describe('errors of upstreams', () => {
  const wire = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_x' });

  test('a client error keeps its message', () => {
    const error = messages.decodeError(400, wire('invalid_request_error', 'messages.0: bad'));
    assert.deepEqual([error.code, error.message], ['invalid_request', 'messages.0: bad']);
  });

  test('a long prompt is recognised', () => {
    const error = messages.decodeError(400, wire('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'));
    assert.equal(error.code, 'context_length_exceeded');
  });

  test("the gateway's own key and credit are nobody else's business", () => {
    for (const [status, type, words] of [
      [401, 'authentication_error', 'invalid x-api-key'],
      [402, 'billing_error', 'no credit'],
      [403, 'permission_error', 'your organisation may not'],
      [400, 'invalid_request_error', 'Your credit balance is too low'],
    ] as const) {
      const error = messages.decodeError(status, wire(type, words));
      assert.equal(error.code, 'upstream_error');
      assert.ok(!error.message.includes(words));
    }
  });

  test('limits and holds of the account are not those of the caller, whatever their status', () => {
    const decode = (status: number, type: string, error_code: string) => {
      const error = { type, message: 'Ask your admin.', details: { error_code } };
      return messages.decodeError(status, { type: 'error', error, request_id: 'req_x' });
    };
    for (const [status, type, code] of [
      [429, 'rate_limit_error', 'contract_spend_limit_reached'],
      [429, 'rate_limit_error', 'enforced_spend_limit_reached'],
      [400, 'invalid_request_error', 'organization_on_hold'],
    ] as const) {
      const { message, ...error } = decode(status, type, code);
      assert.deepEqual([error.code, error.upstreamCode, error.upstreamStatus], ['upstream_error', code, status]);
      assert.ok(!message.includes('admin'));
    }
    assert.equal(decode(429, 'rate_limit_error', 'ramp_limit_exceeded').code, 'rate_limit_exceeded');
  });

  test('overload, rate limit, missing model, size', () => {
    assert.equal(messages.decodeError(529, wire('overloaded_error', 'Overloaded')).code, 'overloaded');
    assert.equal(messages.decodeError(429, wire('rate_limit_error', 'Slow down')).code, 'rate_limit_exceeded');
    assert.equal(messages.decodeError(404, wire('not_found_error', 'model: x')).code, 'model_not_found');
    assert.equal(messages.decodeError(413, wire('request_too_large', 'Too large')).code, 'payload_too_large');
  });

  test('HTML, nothing and flat bodies become errors all the same', () => {
    assert.equal(messages.decodeError(502, '<html>Bad gateway</html>').code, 'upstream_error');
    assert.ok(!messages.decodeError(502, '<html>Bad gateway</html>').message.includes('<'));
    assert.equal(messages.decodeError(503, undefined).code, 'overloaded');
    assert.equal(messages.decodeError(400, { message: 'flat' }).message, 'flat');
    assert.equal(messages.decodeError(400, { error: 'flat' }).message, 'flat');
  });

  test('secrets are redacted', () => {
    const error = messages.decodeError(
      400,
      wire('invalid_request_error', 'key sk-ant-abcdefghijk at https://example.com/x'),
    );
    assert.ok(!/abcdefghijk|example/.test(error.message));
  });

  test('an error with status 200 is recognised', () => {
    assert.equal(messages.errorIn(wire('overloaded_error', 'Overloaded'))?.code, 'overloaded');
    assert.equal(messages.errorIn({ error: { message: 'x' } })?.code, 'upstream_error');
    assert.equal(messages.errorIn({ type: 'message', content: [], error: null }), undefined);
    assert.equal(messages.errorIn({ type: 'ping' }), undefined);
  });
});

describe('catalog', () => {
  const model: CatalogModel = {
    id: 'anthropic/claude',
    provider: 'anthropic',
    upstreamId: 'claude',
    canonicalSlug: 'anthropic/claude-1',
    name: 'Claude',
    description: 'A model.',
    created: 1_700_000_000,
    ownedBy: 'anthropic',
    version: '1',
    contextLength: 200_000,
    maxOutput: 64_000,
    inputModalities: ['text', 'image', 'file'],
    outputModalities: ['text'],
    tokenizer: 'Claude',
    instructType: null,
    pricing: { prompt: '0.000003' },
    isModerated: true,
    supportedParameters: ['tools'],
    expirationDate: null,
    rules: {},
  };

  test('a model in the shape of this protocol', () => {
    const wire = messages.encodeModel(model);
    assert.equal(wire.type, 'model');
    assert.equal(wire.display_name, 'Claude');
    assert.equal(wire.created_at, '2023-11-14T22:13:20Z');
    assert.equal(wire.architecture.modality, 'text+image+file->text');
    assert.deepEqual([wire.max_input_tokens, wire.max_tokens, wire.lifecycle], [200_000, 64_000, 'active']);
    for (const unknown of ['capabilities', 'line', 'deprecated_at', 'retires_at']) assert.equal(wire[unknown], null);
    assert.deepEqual(wire.top_provider, { context_length: 200_000, max_completion_tokens: 64_000, is_moderated: true });
    for (const absent of ['object', 'name', 'created', 'per_request_limits', 'default_parameters']) {
      assert.ok(!(absent in wire), absent);
    }
  });

  test('a list with its cursors', () => {
    const wire = messages.encodeModel(model);
    assert.deepEqual(messages.encodeModels([wire], { more: false, total: 1 }), {
      data: [wire],
      has_more: false,
      first_id: 'anthropic/claude',
      last_id: 'anthropic/claude',
    });
    assert.deepEqual(messages.encodeModels([], { more: false, total: 1 }), {
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
  });
});

describe('names and counts', () => {
  test('hub parameters have their wire names', () => {
    assert.equal(messages.parameterName('maxTokens'), 'max_tokens');
    assert.equal(messages.parameterName('turns'), 'messages');
    assert.equal(messages.parameterName('reasoning.effort'), 'output_config.effort');
    assert.equal(messages.parameterName('format.schema.properties.a'), 'output_config.format.schema.properties.a');
    assert.equal(messages.parameterName('somethingNew.ofTomorrow'), 'something_new.of_tomorrow');
  });

  test('token counts', () => {
    assert.deepEqual(messages.operations['count-tokens']?.encodeCount(7), { input_tokens: 7 });
    assert.equal(messages.operations['count-tokens']?.decodeCount({ input_tokens: 7 }), 7);
    assert.equal(messages.operations['count-tokens']?.decodeCount({ tokens: 7 }), undefined);
  });

  test('a token count omits members that only generation needs', () => {
    const body = { model: 'm', max_tokens: 9, stream: true, messages: [], temperature: 1, metadata: {}, system: [] };
    assert.deepEqual(messages.operations['count-tokens']?.countBody?.(body, { origin: '', model: 'm', rules: {} }), {
      model: 'm',
      system: [],
      messages: [],
    });
    assert.doesNotThrow(() =>
      messages.operations['count-tokens'].check({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
    );
  });

  test('usage of whole responses, starts and later deltas', () => {
    const usage = { input_tokens: 3, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 5 };
    const counted = { input: 123, output: 5, cached: 100, cacheWrite: 20 };
    assert.deepEqual(messages.operations.complete.usageOf({ type: 'message', usage }), counted);
    assert.deepEqual(messages.operations.complete.usageOf({ type: 'message_start', message: { usage } }), counted);
    assert.deepEqual(messages.operations.complete.usageOf({ type: 'message_delta', usage: { output_tokens: 9 } }), {
      output: 9,
    });
    assert.equal(messages.operations.complete.usageOf({ type: 'ping' }), undefined);
  });

  test('the frame that ends a stream', () => {
    assert.ok(messages.operations.complete.isEnd({ event: 'message_stop', data: '{"type":"message_stop"}' }));
    assert.ok(messages.operations.complete.isEnd({ data: '{ "type": "message_stop" }' }));
    assert.ok(!messages.operations.complete.isEnd({ event: 'message_delta', data: '{"type":"message_delta"}' }));
  });
});
