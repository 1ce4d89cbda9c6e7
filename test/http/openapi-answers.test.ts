/** Answers of a gateway: of the status, the media type and the members that `/openapi.json` describes. */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, ADMIN_TOKEN } from '../gateway/admin-client.ts';
import { KEY, type RawResponse, sendRaw, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { createVideoClock, eventually } from '../gateway/video-client.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

interface Asked {
  query?: string;
  body?: Json;
  headers?: Record<string, string>;
}

const load = createRequire(import.meta.url);
const { default: Ajv } = load('ajv/dist/2020');
const { default: addFormats } = load('ajv-formats');

/** Members of OpenRouter's accounts alone. */
const OF_OPENROUTER =
  /\.data\.(is_|byok_|include_byok|creator_user|organization|workspace|free_model|rate_limit|allowed_data)/;
const CHAT = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] };
const GENERATE = { contents: [{ parts: [{ text: 'Hello' }] }] };
const VIDEO = { model: 'sandbox/video', prompt: 'a boat', duration: 1, resolution: '480p' };
const MODEL = { provider: 'sandbox', model: 'echo' };
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const CALLBACKS = `callbacks: { secret: a-secret-of-the-whole-gateway, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }\n`;
const VERSION = { 'anthropic-version': '2023-06-01' };

const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
let gateway: TestGateway;
let receiver: Receiver;
/** Operations whose answers were compared. */
const compared = new Set<string>();
let document: Json;

before(async () => {
  receiver = await startReceiver();
  gateway = await startTestGateway(ADMIN_CONFIG + CALLBACKS, { clock: createVideoClock() });
  document = await (await fetch(`${gateway.url}/openapi.json`)).json();
  ajv.addSchema({ $id: 'api', components: document.components });
});
after(async () => {
  await gateway.close();
  await receiver.close();
});

/** Sends a request to a path of the document; the answer is one that it describes. */
async function call(method: string, template: string, values: Record<string, string> = {}, asked: Asked = {}) {
  const operation = document.paths[template]?.[method.toLowerCase()];
  assert.ok(operation, `${method} ${template} is not described`);
  const { query = '', body, headers = {} } = asked;
  for (const name of [...new URLSearchParams(query).keys()]) assertParameter(operation, 'query', name);
  for (const name of Object.keys(headers)) assertParameter(operation, 'header', name);
  if (body) assertValid(operation.requestBody.content['application/json'].schema, body, template);
  const isAdmin = template.startsWith('/admin/') || template === '/metrics';
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? assert.fail(name)));
  const response = await sendRaw(template.startsWith('/admin/') ? gateway.adminUrl : gateway.url, {
    method,
    path: query === '' ? filled : `${filled}?${query}`,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${isAdmin ? ADMIN_TOKEN : KEY}`,
      ...headers,
    },
    body: body && JSON.stringify(body),
  });
  const name = `${method} ${filled} ${query}`;
  const described = operation.responses[response.status];
  assert.ok(described, `${name}: status ${response.status} is not described: ${response.text.slice(0, 300)}`);
  const type = response.headers['content-type']?.split(';')[0] ?? '';
  const { schema } = described.content[type] ?? assert.fail(`${name}: ${type} is not described`);
  if (type !== 'application/json') return response;
  const value = JSON.parse(response.text);
  assertValid(schema, value, name);
  compared.add(`${method} ${template}`);
  assert.deepEqual(
    undescribed(schema, value).filter((path) => !OF_OPENROUTER.test(path)),
    [],
    name,
  );
  return value;
}

function assertParameter(operation: Json, place: string, wanted: string): void {
  const found = operation.parameters?.some(
    (parameter: Json) => parameter.in === place && parameter.name.toLowerCase() === wanted.toLowerCase(),
  );
  assert.ok(found, `${operation.operationId}: the ${place} parameter ${wanted} is not described`);
}

function validatorOf(schema: Json): ((value: Json) => boolean) & { errors?: Json } {
  return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')));
}

function assertValid(schema: Json, value: Json, name: string): void {
  const validate = validatorOf(schema);
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}`);
}

/** Members that a schema with members does not have. */
function undescribed(given: Json, value: Json, at = ''): string[] {
  const schema = given.$ref ? document.components.schemas[given.$ref.split('/').at(-1)] : given;
  if (schema.anyOf) {
    const fitting = schema.anyOf.find((one: Json) => validatorOf(one)(value));
    return fitting ? undescribed(fitting, value, at) : [];
  }
  if (Array.isArray(value)) return value.flatMap((one) => undescribed(schema.items ?? {}, one, `${at}[]`));
  const { properties = {} } = schema;
  if (typeof value !== 'object' || value === null || Object.keys(properties).length === 0) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    properties[name] ? undescribed(properties[name], one as Json, `${at}.${name}`) : [`${at}.${name}`],
  );
}

test('of the gateway itself', async () => {
  for (const path of ['/', '/healthz', '/readyz', '/metrics', '/openapi.json']) await call('GET', path);
});

test('of chat completions, messages and generateContent', async () => {
  await call('POST', '/v1/chat/completions', {}, { body: CHAT });
  await call('POST', '/v1/chat/completions', {}, { body: { ...CHAT, stream: true } });
  const message = { ...CHAT, max_tokens: 10 };
  await call('POST', '/anthropic/v1/messages', {}, { body: message, headers: VERSION });
  await call('POST', '/anthropic/v1/messages', {}, { body: { ...message, stream: true }, headers: VERSION });
  await call('POST', '/anthropic/v1/messages/count_tokens', {}, { body: CHAT, headers: VERSION });
  const generate = '/gemini/v1beta/models/{provider}/{model}';
  await call('POST', `${generate}:generateContent`, MODEL, { body: GENERATE });
  await call('POST', `${generate}:countTokens`, MODEL, { body: GENERATE });
  await call('POST', `${generate}:streamGenerateContent`, MODEL, { body: GENERATE });
  const { headers } = await call('POST', `${generate}:streamGenerateContent`, MODEL, {
    body: GENERATE,
    query: 'alt=sse',
  });
  assert.equal(headers['content-type'], 'text/event-stream');
});

test('of models', async () => {
  for (const path of ['/v1/models', '/v1/models/count', '/v1/videos/models']) await call('GET', path);
  for (const start of ['/v1', '/anthropic/v1', '/gemini/v1beta']) {
    await call('GET', `${start}/models/{provider}`, MODEL);
    await call('GET', `${start}/models/{provider}/{model}`, MODEL);
  }
  await call('GET', '/v1/model/{provider}/{model}', MODEL);
});

test('of pages of models', async () => {
  const first = await call('GET', '/v1/models', {}, { query: 'limit=1' });
  const [{ id }] = first.data;
  for (const query of [`limit=1&after=${id}`, 'offset=1']) {
    const { data } = await call('GET', '/v1/models', {}, { query });
    assert.notEqual(data[0].id, id);
  }
  await call('GET', '/v1/models/{provider}', MODEL, { query: 'limit=1' });
  const messages = await call('GET', '/anthropic/v1/models', {}, { query: 'limit=1' });
  await call('GET', '/anthropic/v1/models', {}, { query: `after_id=${messages.last_id}&before_id=sandbox/video` });
  const generate = await call('GET', '/gemini/v1beta/models', {}, { query: 'pageSize=1' });
  await call('GET', '/gemini/v1beta/models', {}, { query: `pageToken=${generate.nextPageToken}` });
});

test('of lists to operators: the longest page is that of the description', async () => {
  const lists = Object.entries<Json>(document.paths).filter(([path, { get }]) => {
    const limit = get?.parameters?.some(({ name }: Json) => name === 'limit');
    return limit && path.startsWith('/admin/') && !path.includes('{');
  });
  assert.ok(lists.length >= 8, `${lists.length}`);
  for (const [path, { get }] of lists) {
    const { schema } = get.parameters.find(({ name }: Json) => name === 'limit');
    await call('GET', path, {}, { query: `limit=${schema.maximum}` });
    const longer = await sendRaw(gateway.adminUrl, {
      method: 'GET',
      path: `${path}?limit=${schema.maximum + 1}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    assert.equal(longer.status, 400, path);
  }
});

test('of stored responses and conversations', async () => {
  const { id } = await call('POST', '/v1/responses', {}, { body: { model: 'sandbox/echo', input: 'Hello' } });
  await call('GET', '/v1/responses/{id}', { id });
  await call('GET', '/v1/responses/{id}/input_items', { id }, { query: 'limit=1&order=asc' });
  await call('DELETE', '/v1/responses/{id}', { id });
  const one = await call('POST', '/v1/conversations', {}, { body: { metadata: { a: 'b' } } });
  await call('POST', '/v1/conversations/{id}', { id: one.id }, { body: { metadata: { c: 'd' } } });
  const items = [{ type: 'message', role: 'user', content: 'Hello' }];
  const added = await call('POST', '/v1/conversations/{id}/items', { id: one.id }, { body: { items } });
  await call('GET', '/v1/conversations/{id}/items', { id: one.id });
  await call('GET', '/v1/conversations/{id}/items/{item}', { id: one.id, item: added.data[0].id });
  await call('DELETE', '/v1/conversations/{id}', { id: one.id });
});

test('of videos, to the holder of the key and to operators', async () => {
  const { id } = await call('POST', '/v1/videos', {}, { body: VIDEO });
  await eventually(gateway, async () => (await call('GET', '/v1/videos/{id}', { id })).status === 'completed');
  for (const query of ['', 'total=true', 'format=csv']) await call('GET', '/v1/videos', {}, { query });
  const headers = { range: 'bytes=0-9' };
  for (const path of ['/v1/videos/{id}/content', '/admin/v1/videos/{id}/content']) {
    const whole: RawResponse = await call('GET', path, { id });
    const part: RawResponse = await call('GET', path, { id }, { headers });
    assert.deepEqual([whole.status, part.status, whole.headers['content-type']], [200, 206, 'video/mp4']);
  }
  for (const query of ['', 'format=csv']) await call('GET', '/admin/v1/videos', {}, { query });
  for (const start of ['/v1/self', '/admin/v1']) await call('GET', `${start}/videos/summary`);
  await call('GET', '/admin/v1/videos/{id}', { id });
  await call('GET', '/v1/videos/{id}/deliveries', { id });
  await call('DELETE', '/admin/v1/videos/{id}', { id });
});

test('of use and requests', async () => {
  await call('POST', '/v1/chat/completions', {}, { body: CHAT });
  for (const path of ['/v1/usage', '/v1/key', '/v1/key/webhooks']) await call('GET', path);
  for (const start of ['/v1/self', '/admin/v1']) {
    for (const query of ['', 'by=day,model', 'format=csv', 'compare=true']) {
      await call('GET', `${start}/usage`, {}, { query });
    }
    for (const path of ['requests', 'requests/sessions', 'deliveries']) {
      for (const query of ['', 'format=csv']) await call('GET', `${start}/${path}`, {}, { query });
    }
    const { data } = await call('GET', `${start}/requests`, {}, { query: 'limit=1' });
    await call('GET', `${start}/requests/{id}`, { id: data[0].id });
    for (const path of ['requests/summary', 'deliveries/receivers', 'sessions', 'models/price-changes']) {
      await call('GET', `${start}/${path}`);
    }
    await call('PUT', `${start}/views/{id}`, { id: 'one' }, { body: { name: 'One', address: '/requests' } });
    for (const path of ['views', 'views/{id}']) await call('GET', `${start}/${path}`, { id: 'one' });
    await call('DELETE', `${start}/views/{id}`, { id: 'one' });
  }
});

test('of keys and tags', async () => {
  const made = {
    name: 'app',
    tags: { team: 'search' },
    limits: { requests_per_minute: 5 },
    budgets: { month: '5.00' },
    model_limits: { 'sandbox/*': { tokens_per_minute: 1000 } },
  };
  const { data, key } = await call('POST', '/admin/v1/keys', {}, { body: made });
  const [tag, body] = ['team=search', { limits: { requests_per_minute: 9 }, budgets: { month: '9' } }];
  await call('PUT', '/admin/v1/tags/{tag}', { tag }, { body });
  const { hash } = data;
  await call('POST', '/admin/v1/keys/bulk', {}, { body: { keys: [{ name: 'one' }, { name: 'two' }] } });
  const leaked = await call('POST', '/admin/v1/keys', {}, { body: { name: 'leaked' } });
  await call('POST', '/admin/v1/keys/revoke', {}, { body: { keys: [leaked.key, 'no key'] } });
  await call('GET', '/admin/v1/tags/{tag}', { tag });
  await call('PATCH', '/admin/v1/tags/{tag}', { tag }, { body: { budgets: { day: '1' } } });
  await call('POST', '/admin/v1/keys/{hash}/webhook-secret/rotate', { hash }, { body: { activate_in: 60 } });
  for (const path of ['/admin/v1/keys/{hash}', '/admin/v1/keys/{hash}/webhook-secret'])
    await call('GET', path, { hash });
  const own = await sendRaw(gateway.url, {
    method: 'GET',
    path: '/v1/key',
    headers: { authorization: `Bearer ${key}` },
  });
  assertValid(
    document.paths['/v1/key'].get.responses[200].content['application/json'].schema,
    JSON.parse(own.text),
    'key',
  );
  for (const path of ['keys', 'tags', 'audit']) {
    for (const query of ['', 'format=csv']) await call('GET', `/admin/v1/${path}`, {}, { query });
  }
  await call('DELETE', '/admin/v1/tags/{tag}', { tag });
  await call('PATCH', '/admin/v1/keys/{hash}', { hash }, { body: { disabled: true } });
  await call('POST', '/admin/v1/keys/{hash}/rotate', { hash }, { body: { overlap: 60 } });
  await call('DELETE', '/admin/v1/keys/{hash}', { hash });
});

test('of models, health and the configuration, to operators', async () => {
  for (const path of ['replicas', 'endpoints', 'store']) await call('GET', `/admin/v1/health/${path}`);
  for (const path of ['models', 'models/statistics', 'setup', 'config']) await call('GET', `/admin/v1/${path}`);
  const { data } = await call('GET', '/admin/v1/models', {}, { query: 'id=sandbox/echo' });
  assert.ok(data[0].users_total >= 1);
  await call('POST', '/admin/v1/explain', {}, { body: { protocol: 'chat', model: 'sandbox/echo' } });
  await call('POST', '/admin/v1/config/check', {}, { body: { text: 'server: { port: x }' } });
  await call('POST', '/admin/v1/config/check', {}, { body: { text: 'server: { port: 1234 }' } });
  await call('POST', '/admin/v1/providers/{id}/test', { id: 'sandbox' });
  await call('POST', '/admin/v1/providers/local');
});

test('of webhooks, to the holder of the key and to operators', async () => {
  const callback_url = `https://127.0.0.1:${receiver.port}/`;
  const { id } = await call('POST', '/v1/videos', {}, { body: { ...VIDEO, callback_url } });
  const isDelivered = async () =>
    (await call('GET', '/v1/videos/{id}/deliveries', { id })).data[0]?.state === 'delivered';
  await eventually(gateway, isDelivered);
  for (const [path, values] of [
    ['/v1/self/deliveries/{id}', { id }],
    ['/v1/self/deliveries/{id}/body', { id }],
    ['/v1/self/deliveries/receivers', {}],
    ['/v1/self/deliveries', {}],
    ['/admin/v1/deliveries/{task}', { task: id }],
    ['/admin/v1/deliveries/{task}/body', { task: id }],
    ['/admin/v1/deliveries/receivers', {}],
    ['/admin/v1/deliveries', {}],
  ] as const) {
    await call('GET', path, values as Record<string, string>);
  }
  const { data } = await call('GET', '/admin/v1/deliveries');
  await call('GET', '/admin/v1/keys/{hash}/deliveries', { hash: data[0].key });
  await call('POST', '/admin/v1/deliveries/{task}/replay', { task: id });
  const { id: cancelled } = await call('POST', '/v1/videos', {}, { body: VIDEO });
  await call('POST', '/admin/v1/videos/{id}/cancel', { id: cancelled });
});

/** Of sessions, which this test does not open. */
const OF_SESSIONS = ['GET /admin/v1/captures/{id}', 'DELETE /admin/v1/sessions/{id}'];

test('every answer of the admin API was compared, and none is described as any object', () => {
  const all = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      content: Object.entries<Json>(responses).find(([status]) => status.startsWith('2'))?.[1].content,
    })),
  );
  const admin = all.filter(({ name }) => name.includes(' /admin/'));
  const named = admin.filter(({ content }) => !content['video/mp4']);
  assert.deepEqual(
    named.map(({ name }) => name).filter((name) => !compared.has(name) && !OF_SESSIONS.includes(name)),
    [],
  );
  for (const { name, content } of named) {
    const { properties = {} } = content['application/json'].schema;
    assert.notDeepEqual(Object.keys(properties), [], name);
    const { data } = properties;
    const row = data?.items ?? data;
    if (row) assert.notDeepEqual(Object.keys(row.properties ?? {}), [], name);
  }
});
