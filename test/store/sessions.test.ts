/** Sessions of the dashboard in the store: codes that are used once, by whoever is first, and sessions that end. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSessionList } from '../../src/http/sessions/list.ts';
import { createLoginCode } from '../../src/http/sessions/login-code.ts';
import { createSessions } from '../../src/http/sessions/sessions.ts';
import { Secret } from '../../src/security/secret.ts';
import type { Store } from '../../src/store/store.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore } from './stores.ts';

const NO_KEYS = { authenticate: () => undefined, activeByDigest: () => undefined };
const OPENING = { requestId: 'r', checkKey: () => undefined };
const author = { actor: 'command line' } as const;

forEachStore((engine, openStore) => {
  describe(`sessions (${engine})`, () => {
    const clock = createManualClock(1_700_000_000_000);
    const sessionsOf = (store: Store, token: Secret | undefined = undefined) =>
      createSessions({ store, keys: NO_KEYS, token, clock });

    test('are opened by a code once, whichever gateway is asked first', async (context) => {
      const store = await openStore(context);
      const { code } = await createLoginCode(store, { role: 'viewer', author, now: clock.now() });
      const gateways = [sessionsOf(store), sessionsOf(await store.beside())];
      const opened = await Promise.all(gateways.map((sessions) => sessions.open({ code }, OPENING)));
      const [first, ...more] = opened.filter((one) => one !== undefined);
      assert.deepEqual([first?.session.role, more.length], ['viewer', 0]);
      for (const sessions of gateways) assert.equal((await sessions.find(first?.cookie ?? ''))?.id, first?.session.id);
      assert.equal(await gateways[0]?.find('another'), undefined);
    });

    test('end when the admin token that opened them is another', async (context) => {
      const store = await openStore(context);
      const token = new Secret('admin-token-0123456789-0123456789');
      const opened = await sessionsOf(store, token).open({ token: token.reveal() }, OPENING);
      const cookie = opened?.cookie ?? '';
      assert.equal((await sessionsOf(store, token).find(cookie))?.role, 'admin');
      for (const other of [new Secret('another-token-0123456789-012345678'), undefined])
        assert.equal(await sessionsOf(store, other).find(cookie), undefined);
      assert.equal(await sessionsOf(store).open({ token: token.reveal() }, OPENING), undefined);
    });

    test('that a clock opened which is set back by years have ended, as have its codes; one set back by an hour ends none', async (context) => {
      const store = await openStore(context);
      const sessions = sessionsOf(store);
      const codeOf = async () => (await createLoginCode(store, { role: 'admin', author, now: clock.now() })).code;
      const openWith = async (code: string) => (await sessions.open({ code }, OPENING))?.cookie ?? '';
      const all = { current: undefined, names: new Map<string, string>() };
      const count = async () =>
        (await createSessionList({ store, now: clock.now }).list(new URLSearchParams(), all)).total;
      const started = clock.now();
      clock.set(started + 10 * 365 * 24 * 3_600_000);
      const cookie = await openWith(await codeOf());
      const code = await codeOf();
      clock.set(clock.now() - 3_600_000);
      assert.equal((await sessions.find(cookie))?.role, 'admin');
      clock.set(started);
      assert.equal(await sessions.find(cookie), undefined);
      assert.equal(await count(), 0);
      assert.equal(await openWith(code), '');
      const next = await openWith(await codeOf());
      assert.equal((await sessions.find(next))?.role, 'admin');
      clock.set(started + 10 * 365 * 24 * 3_600_000);
      assert.equal(await sessions.find(cookie), undefined, 'it does not come back');
      clock.set(started);
    });

    test('are removed when they have ended, and seen to the minute', async (context) => {
      const store = await openStore(context);
      const sessions = sessionsOf(store);
      const open = async () => {
        const { code } = await createLoginCode(store, { role: 'admin', author, now: clock.now() });
        return (await sessions.open({ code }, OPENING))?.cookie ?? '';
      };
      const cookie = await open();
      clock.advance(60_000);
      await sessions.find(cookie);
      await sessions.find(cookie);
      const all = { current: undefined, names: new Map<string, string>() };
      const listed = () => createSessionList({ store, now: clock.now }).list(new URLSearchParams(), all);
      // Noted after the answer.
      while (Date.parse((await listed()).data[0]?.seen_at) !== clock.now());
      clock.advance(12 * 3_600_000);
      assert.deepEqual(await listed(), { data: [], total: 0, next: null });
      await open();
      const before = { openedBefore: 0, seenBefore: 0, openedAfter: Number.MAX_SAFE_INTEGER };
      assert.equal((await store.call('listSessions', { ...before, limit: 10 })).rows.length, 1);
    });
  });
});
