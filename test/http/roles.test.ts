/** The table of roles: for every route of the gateway, which sessions may call it. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AdminHandlers, adminRoutes } from '../../src/http/admin/routes.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import { createRoutes } from '../../src/http/routes/index.ts';
import { mayCall, type Role } from '../../src/http/sessions/roles.ts';
import { type SessionHandlers, sessionRoutes } from '../../src/http/sessions/routes.ts';
import { protocolOf, protocols } from '../../src/protocols/index.ts';

const chat = protocolOf('chat');
const prefixes = { messages: 'anthropic', generate: 'gemini' };
const options = { protocols, prefixes, videos: {} } as AppOptions;
const routes = [
  ...createRoutes(options, { open: async () => undefined }).routes,
  ...adminRoutes(chat, async () => ({}) as AdminHandlers),
  ...sessionRoutes(chat, {} as SessionHandlers),
];

function callable(role: Role): string[] {
  return routes.filter((route) => mayCall(role, route)).map(({ name }) => name);
}

describe('a session of the role', () => {
  test('admin calls every route', () => {
    assert.equal(callable('admin').length, routes.length);
  });

  test('viewer calls what is for anyone, and of the admin API the reads without secrets and what changes nothing', () => {
    const names = callable('viewer').filter((name) => name.startsWith('admin.'));
    const reads = routes
      .filter(({ name, method }) => name.startsWith('admin.') && method === 'GET')
      .map(({ name }) => name);
    assert.deepEqual(
      reads.filter((name) => !names.includes(name)),
      ['admin.WebhookSecret'],
    );
    assert.deepEqual(
      names.filter((name) => !reads.includes(name)),
      ['admin.Explanation', 'admin.ConfigCheck'],
    );
    const others = routes.filter(({ name }) => callable('viewer').includes(name) && !name.startsWith('admin.'));
    const changing = new Set(others.filter(({ changes }) => changes).map(({ name }) => name));
    assert.deepEqual([...changing].toSorted(), ['ui.SessionEnd', 'ui.SessionOpening']);
    assert.ok(others.every(({ access }) => access !== 'key'));
  });

  test('key calls everything that keys call, and nothing of the admin API', () => {
    const own = new Set(callable('key'));
    for (const { name, access } of routes) assert.equal(own.has(name), access !== 'admin', name);
    assert.ok(!own.has('ui.SessionLink') && !own.has('metrics'));
  });
});
