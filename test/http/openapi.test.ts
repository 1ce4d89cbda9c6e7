/** The description of the API: valid, complete, and made of the schemas that check requests. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { Json } from '../../src/core/json/json.ts';
import { operationsOf } from '../../src/core/operation.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import { type AdminHandlers, adminDescriptions, adminRoutes } from '../../src/http/admin/routes.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import { createDocument, operationsOfRoutes } from '../../src/http/openapi/document.ts';
import { createRouteTable } from '../../src/http/route-table.ts';
import { createRoutes } from '../../src/http/routes/index.ts';
import { type SessionHandlers, sessionDescriptions, sessionRoutes } from '../../src/http/sessions/routes.ts';
import { protocolOf, protocols, SURFACES } from '../../src/protocols/index.ts';
import { startTestGateway, type TestGateway } from '../gateway/harness.ts';

const prefixes = { messages: 'anthropic', generate: 'gemini' };
const table = createRoutes({ protocols, prefixes, videos: {} } as AppOptions, { open: async () => undefined });
const document = createDocument({
  version: '1.2.3',
  operations: operationsOfRoutes([...table.routes, ...adminDescriptions, ...sessionDescriptions]),
});

/** What stands for the braces of a path. */
function sample(path: string): string {
  return path
    .replace('{provider}', 'sandbox')
    .replace('{model}', 'echo')
    .replace('{id}', '0b0e9a3c-6c1e-4d7e-9a3f-0123456789ab')
    .replace('{file}', '0.mp4');
}

function isDescribed(method: string, path: string): boolean {
  const fitting = Object.keys(document.paths).filter((template) =>
    // A model's own name may have slashes.
    new RegExp(`^${template.replace('{model}', '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return fitting.some((template) => document.paths[template][method.toLowerCase()] !== undefined);
}

test('it is a valid document of OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  assert.ok(result.valid, JSON.stringify(result.errors, null, 2));
  assert.equal(validator.version, '3.1');
});

test('a key can be scoped to every surface that a route has', () => {
  assert.deepEqual(new Set(table.routes.flatMap(({ surface }) => surface ?? [])), new Set(SURFACES));
});

test('every operation has a name of its own', () => {
  const ids = Object.values(document.paths).flatMap((item: Json) =>
    Object.values(item).map(({ operationId }: Json) => operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
});

describe('every route of a protocol is in it', () => {
  const query = new URLSearchParams();
  /** What may follow an endpoint's path. */
  const rests = [
    '',
    '/count_tokens',
    '/sandbox',
    '/sandbox/echo',
    '/models',
    '/models/sandbox',
    '/models/sandbox/echo',
  ];
  const methods = ['generateContent', 'streamGenerateContent', 'countTokens'].map(
    (name) => `/models/sandbox/echo:${name}`,
  );

  for (const protocol of protocols) {
    for (const { name, method, path, templates } of routesOf(protocol)) {
      test(`${method} ${path} ${name}`, () => {
        // A route without templates has the path of another one, which describes it.
        if (templates.length === 0) assert.ok(document.paths[path][method.toLowerCase()], path);
        for (const template of templates) {
          const found = table.find(method, sample(template.path), query);
          assert.equal(found.route?.operation?.name ?? found.route?.name, name, template.path);
          assert.equal(found.protocol, protocol);
          assert.ok(document.paths[template.path][method.toLowerCase()], template.path);
        }
        for (const rest of [...rests, ...methods]) {
          if (!answers(method, path + rest)) continue;
          assert.ok(isDescribed(method, path + rest), `${method} ${path + rest} is not described`);
        }
      });
    }
  }

  function answers(method: string, path: string): boolean {
    return table.find(method, path, query).route !== undefined;
  }
});

describe('every route of videos is in it', () => {
  for (const { method, name, templates } of table.routes.filter(({ surface }) => surface === 'videos')) {
    const template = templates[0]?.path ?? '';
    test(`${method} ${template}`, () => {
      const found = table.find(method, sample(template), new URLSearchParams());
      assert.equal(found.route?.name, name);
      assert.equal(document.paths[template]?.[method.toLowerCase()]?.operationId, name.replace('.', '_'));
    });
  }
});

const OTHERS = [
  ...['/', '/healthz', '/readyz', '/metrics', '/openapi.json'],
  ...['/v1/usage', '/v1/generation', '/v1/key', '/v1/credits', '/v1/key/webhook-secret', '/v1/key/webhooks'],
  ...['/v1/self/requests', '/v1/self/requests/summary', '/v1/self/requests/sessions', '/v1/self/usage'],
  ...[
    '/v1/self/deliveries',
    '/v1/self/deliveries/receivers',
    '/v1/self/videos/summary',
    '/v1/self/models/price-changes',
  ],
];

describe('every page is in it', () => {
  for (const path of OTHERS) {
    test(path, () => {
      assert.equal(table.find('GET', path, new URLSearchParams()).route?.path, path);
      assert.ok(document.paths[path]?.get);
    });
  }
});

const VIDEOS = ['', '/models', '/{id}', '/{id}/cancel', '/{id}/content', '/{id}/files/{file}']
  .concat('/{id}/deliveries', '/{id}/deliveries/replay')
  .map((rest) => `/v1/videos${rest}`)
  .concat('/v1/files/pictures/{name}');

const RESPONSES = ['/v1/responses/{id}', '/v1/responses/{id}/cancel', '/v1/responses/{id}/input_items'];
const SELF = [
  '/requests/{id}',
  '/captures/{id}',
  '/deliveries/{id}',
  '/deliveries/{id}/body',
  '/sessions',
  '/sessions/{id}',
  '/views',
  '/views/{id}',
].map((rest) => `/v1/self${rest}`);
const CONVERSATIONS = ['', '/{id}', '/{id}/items', '/{id}/items/{item}'].map((rest) => `/v1/conversations${rest}`);

const adminTable = createRouteTable(
  adminRoutes(protocolOf('chat'), async () => ({}) as AdminHandlers),
  protocolOf('chat'),
);
const ADMIN = adminTable.routes.map((route) => ({ ...route, template: route.templates[0]?.path ?? '' }));

describe('every route of the admin API is in it', () => {
  for (const { method, template, name, describe: description } of ADMIN) {
    test(`${method} ${template}`, () => {
      const found = adminTable.find(method, template.replaceAll(/\{\w+\}/g, 'a%2Fb'), new URLSearchParams());
      assert.equal(found.route?.name, name);
      const { status } = description({ path: template }).response;
      const operation = document.paths[template]?.[method.toLowerCase()];
      assert.ok(operation?.responses[status]);
      assert.deepEqual(operation.security, [{ adminToken: [] }, { session: [] }]);
    });
  }
});

const SESSIONS = sessionRoutes(protocolOf('chat'), {} as SessionHandlers);

describe('every route of sessions is in it', () => {
  for (const { method, templates, access } of SESSIONS) {
    const template = templates[0]?.path ?? '';
    test(`${method} ${template}`, () => {
      const operation = document.paths[template]?.[method.toLowerCase()];
      assert.equal(operation.security.length, { anyone: 0, key: 3, admin: 2, session: 1 }[access]);
    });
  }
});

test('nothing else is in it', () => {
  const known = [
    ...protocols.flatMap((protocol) =>
      routesOf(protocol).flatMap(({ templates }) => templates.map(({ path }) => path)),
    ),
    ...VIDEOS,
    ...RESPONSES,
    ...CONVERSATIONS,
    ...SELF,
    ...ADMIN.map(({ template }) => template),
    ...SESSIONS.map(({ templates }) => templates[0]?.path ?? ''),
    ...OTHERS,
  ];
  assert.deepEqual(Object.keys(document.paths).toSorted(), [...new Set(known)].toSorted());
});

test('bodies are those that requests are checked with', () => {
  const { schemas } = document.components;
  assert.deepEqual(schemas.ChatRequest.properties.temperature, { type: 'number', minimum: 0, maximum: 2 });
  assert.deepEqual(schemas.MessagesRequest.required, ['model', 'messages', 'max_tokens']);
  assert.deepEqual(schemas.MessagesCountTokensRequest.required, ['model', 'messages']);
  assert.equal(schemas.GenerateRequest.properties.generationConfig.properties.topK.minimum, 0);
  assert.equal(schemas.VideoRequest.properties.execution_expires_after.maximum, 172_800);
  assert.ok(!JSON.stringify(document).includes('errorMessage'));
});

test('who needs a key is told, and what a webhook brings', () => {
  assert.deepEqual(document.paths['/v1/models'].get.security, []);
  assert.ok(document.paths['/v1/chat/completions'].post.security.length > 0);
  const { post } = document.webhooks['video.generation'];
  assert.equal(post.requestBody.content['application/json'].schema.$ref, '#/components/schemas/VideoEvent');
});

describe('GET /openapi.json', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway('server: { prefixes: { messages: msg } }');
  });
  after(() => gateway.close());

  test('is for anyone, and knows the prefixes', async () => {
    const response = await fetch(`${gateway.url}/openapi.json`);
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/json']);
    const served = (await response.json()) as Json;
    assert.deepEqual([served.openapi, served.info.version], ['3.1.0', 'test']);
    assert.ok(served.paths['/msg/v1/messages'].post && !served.paths['/anthropic/v1/messages']);
  });

  test('is what a task looks like', async () => {
    const body = JSON.stringify({ model: 'sandbox/video', prompt: 'a cat', duration: 1, resolution: '480p' });
    const headers = { authorization: 'Bearer sk-test-gateway-key-0123456789', 'content-type': 'application/json' };
    const response = await fetch(`${gateway.url}/v1/videos`, { method: 'POST', headers, body });
    const task = (await response.json()) as Json;
    const { properties, required } = document.components.schemas.Video;
    for (const name of required) assert.ok(name in task, name);
    const undescribed = Object.keys(task).filter((name) => !(name in properties));
    assert.deepEqual(undescribed, []);
  });
});

/** The routes of a protocol, each with the name of its operation or `catalog`. */
function routesOf(protocol: Protocol) {
  return [
    ...operationsOf(protocol).flatMap((operation) =>
      operation
        .routes(prefixes)
        .map(({ method, path, templates }) => ({ name: operation.name, method, path, templates })),
    ),
    ...protocol
      .catalogRoutes(prefixes)
      .map(({ method, path, templates }) => ({ name: 'catalog', method, path, templates })),
  ];
}
