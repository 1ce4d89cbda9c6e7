/** The route table: which route a method and a path lead to, and in whose shape errors are written. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AdminHandlers, adminRoutes } from '../../src/http/admin/routes.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import {
  createRouteTable,
  matchExactly,
  matchTemplate,
  type Route,
  type RouteDescription,
} from '../../src/http/route-table.ts';
import { createRoutes } from '../../src/http/routes/index.ts';
import { protocolOf, protocols } from '../../src/protocols/index.ts';

const NO_QUERY = new URLSearchParams();
const [chat, messages] = [protocolOf('chat'), protocolOf('messages')];

function routeOf(name: string, facts: Partial<Route>): Route {
  const path = facts.path ?? '/';
  return {
    name,
    method: 'GET',
    path,
    match: matchExactly(path),
    templates: [{ path }],
    protocol: chat,
    access: 'anyone',
    changes: false,
    limited: false,
    describe: () => ({}) as RouteDescription,
    handle: () => undefined,
    ...facts,
  };
}

describe('of several routes that fit', () => {
  const table = createRouteTable(
    [
      routeOf('any', { path: '/a', match: (path) => path.split('/')[2] }),
      routeOf('remove any', { path: '/a', method: 'DELETE', match: (path) => path.split('/')[2] }),
      routeOf('special', { path: '/a/special', protocol: messages }),
    ],
    chat,
  );
  const find = (method: string, path: string) => table.find(method, path, NO_QUERY);

  test('the longest decides', () => {
    assert.equal(find('GET', '/a/special').route?.name, 'special');
    assert.equal(find('GET', '/a/specialist').route?.name, 'any');
    assert.equal(find('DELETE', '/a/other').route?.name, 'remove any');
  });

  test('the longest decides about methods, too', () => {
    const found = find('DELETE', '/a/special');
    assert.ok(!found.route);
    assert.deepEqual([found.error.code, found.error.allow], ['method_not_allowed', 'GET, HEAD']);
    assert.equal(found.protocol, messages);
  });

  test('HEAD is answered like GET', () => {
    assert.equal(find('HEAD', '/a/other').route?.name, 'any');
  });

  test('a path has whole segments', () => {
    const found = find('GET', '/ab');
    assert.ok(!found.route);
    assert.equal(found.error.code, 'not_found');
  });
});

test('a path of more than 64 segments is looked at no further', () => {
  let asked = 0;
  const match = (path: string) => {
    asked++;
    return path;
  };
  const table = createRouteTable([routeOf('any', { path: '/a', match, protocol: messages })], chat);
  const most = `/a${'/b'.repeat(62)}`;
  assert.equal(table.find('GET', most, NO_QUERY).route?.name, 'any');
  const found = table.find('GET', `${most}/b`, NO_QUERY);
  assert.deepEqual([found.route?.name, found.protocol.id, asked], [undefined, 'messages', 1]);
  assert.equal(found.route ? undefined : found.error.code, 'not_found');
});

describe('a template', () => {
  const match = matchTemplate('/keys/{hash}/rotate');

  test('gives its variable parts, percent-decoded once', () => {
    assert.deepEqual(match('/keys/abc/rotate'), { hash: 'abc' });
    assert.deepEqual(match('/keys/a%2Fb%2541/rotate'), { hash: 'a/b%41' });
  });

  test('fits nothing else', () => {
    for (const path of [
      '/keys//rotate',
      '/keys/a/rotate/',
      '/keys/a',
      '/keys/%/rotate',
      'keys/a/rotate',
      '/x/a/rotate',
    ]) {
      assert.equal(match(path), undefined, path);
    }
  });
});

describe('the routes of the gateway', () => {
  const options = { protocols, prefixes: { messages: 'anthropic', generate: 'gemini' }, videos: {} } as AppOptions;
  const { routes, find, protocolOf: protocolAt } = createRoutes(options, { open: async () => undefined });

  test('that start or change something need a key', () => {
    for (const { name, changes, access } of routes) if (changes) assert.equal(access, 'key', name);
  });

  test('that ask a model, or order a video, count against limits', () => {
    for (const { name, operation, limited } of routes) {
      assert.equal(limited, operation !== undefined || name === 'videos.create', name);
    }
  });

  test('that are for anyone are few', () => {
    const open = routes.filter(({ access }) => access === 'anyone').map(({ name }) => name);
    const videos = ['videos.file', 'videos.models', 'videos.picture'];
    const expected = ['catalog', 'health', 'openapi', 'readiness', 'root', ...videos];
    assert.deepEqual([...new Set(open)].toSorted(), expected);
    assert.deepEqual(
      routes.filter(({ access }) => access === 'admin').map(({ name }) => name),
      ['metrics'],
    );
  });

  test('have a surface that keys can be scoped to, if they do more than read the key itself', () => {
    for (const { name, access, surface } of routes) {
      if (access === 'key' && !name.startsWith('own.')) assert.ok(surface, name);
    }
  });

  test('name requests for logs, metrics and traces', () => {
    const names = (method: string, path: string) => {
      const found = find(method, path, NO_QUERY);
      return found.route && found.name;
    };
    assert.equal(names('POST', '/v1/chat/completions'), 'inference.complete');
    assert.equal(names('POST', '/gemini/v1beta/models/a/b:countTokens'), 'inference.count-tokens');
    assert.equal(names('GET', '/v1/models'), 'catalog.list-models');
    assert.equal(names('GET', '/v1/models/a/b'), 'catalog.get-model');
    assert.equal(names('GET', '/v1/models/count'), 'catalog.count-models');
    assert.equal(names('POST', '/v1/videos'), 'videos.create');
    assert.equal(names('GET', '/v1/usage'), 'own.usage');
    assert.equal(names('GET', '/healthz'), 'health');
  });

  test('have the protocol of the nearest route where nothing is', () => {
    assert.equal(protocolAt('/anthropic/v1/nothing').id, 'messages');
    assert.equal(protocolAt('/gemini').id, 'generate');
    assert.equal(protocolAt('/v1/nothing').id, 'chat');
    assert.equal(protocolAt('/').id, 'chat');
  });
});

describe('the routes of the admin API', () => {
  const table = createRouteTable(
    adminRoutes(chat, async () => ({}) as AdminHandlers),
    chat,
  );

  test('are all for the holder of the admin token', () => {
    for (const { name, access } of table.routes) assert.equal(access, 'admin', name);
  });

  test('give what varies, and the methods that a path takes', () => {
    const key = table.find('PATCH', '/admin/v1/keys/a%2Fb', NO_QUERY);
    assert.deepEqual(key.route && [key.name, key.match], ['admin.KeyChange', { hash: 'a/b' }]);
    const other = table.find('PUT', '/admin/v1/keys/abc', NO_QUERY);
    assert.equal(other.route ? undefined : other.error.allow, 'GET, HEAD, PATCH, DELETE');
    assert.equal(table.find('POST', '/admin/v1/keys/revoke', NO_QUERY).route?.name, 'admin.KeyLeak');
  });
});
