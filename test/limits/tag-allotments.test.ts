/** Limits and budgets of tags in the store: what wins, what other gateways see, and what is audited. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTagAllotments, type TagAllotments } from '../../src/limits/tag-allotments.ts';
import type { Allotment, SharedAllotments } from '../../src/records/key-settings.ts';
import type { Author } from '../../src/store/audit-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { forEachStore, openTestSqlite } from '../store/stores.ts';
import { NOON } from '../usage/records.ts';
import { UNSHARED } from './allotments.ts';

const TEAM = 'team=search';
const AUTHOR: Author = { actor: 'command line' };
const MONTH: Allotment = { limits: {}, budgets: { month: '5' } };

function open(store: Store, allotments: SharedAllotments = UNSHARED, origin = 'polygate.yaml'): TagAllotments {
  return createTagAllotments({ store, config: () => ({ allotments, origin }), now: () => NOON });
}

forEachStore((name, openStore) => {
  test(`are replaced, seen by another gateway after it looks, and taken back (${name})`, async (context) => {
    const store = await openStore(context);
    const [one, other] = [open(store), open(await store.beside())];
    await other.refresh();
    await one.set(TEAM, { limits: { requestsPerMinute: 9 } }, AUTHOR);
    await one.set(TEAM, MONTH, AUTHOR);
    // The same again is no change.
    await one.set(TEAM, MONTH, AUTHOR);
    assert.deepEqual(one.shared().tags, new Map([[TEAM, MONTH]]));
    assert.equal(other.originOf(TEAM), undefined);
    await other.refresh();
    assert.deepEqual(other.shared().tags, new Map([[TEAM, MONTH]]));
    assert.equal(other.originOf(TEAM), 'store');
    const known = other.shared();
    await other.refresh();
    assert.equal(other.shared(), known);
    await other.remove(TEAM, AUTHOR);
    await one.refresh();
    assert.deepEqual([one.shared().tags.size, one.originOf(TEAM)], [0, undefined]);
    const gone = 'The tag team=search has no limits and no budgets.';
    await assert.rejects(one.remove(TEAM, AUTHOR), { code: 'not_found', message: gone });
    const entries = await store.call('readAudit', { limit: 10, subject: TEAM });
    assert.deepEqual(
      entries.map(({ actor, action, before, after }) => ({ actor, action, before, after })),
      [
        { actor: 'command line', action: 'tag.remove', before: MONTH, after: undefined },
        { actor: 'command line', action: 'tag.set', before: { limits: { requestsPerMinute: 9 } }, after: MONTH },
        { actor: 'command line', action: 'tag.set', before: undefined, after: { limits: { requestsPerMinute: 9 } } },
      ],
    );
  });

  test(`have later and later times of change, also within a millisecond (${name})`, async (context) => {
    const store = await openStore(context);
    const [one, other] = [open(store), open(await store.beside())];
    await one.set(TEAM, MONTH, AUTHOR);
    const read = one.changedAt(TEAM) as number;
    await other.change(TEAM, { budgets: { month: '6' } }, AUTHOR, read);
    const stale = one.change(TEAM, { budgets: { month: '7' } }, AUTHOR, read);
    await assert.rejects(stale, { code: 'changed_meanwhile' });
    await one.refresh();
    assert.deepEqual([one.changedAt(TEAM), one.shared().tags.get(TEAM)?.budgets], [read + 1, { month: '6' }]);
  });

  test(`of the configuration replace stored ones, and are changed in the file only (${name})`, async (context) => {
    const store = await openStore(context);
    const configured: Allotment = { limits: { concurrentRequests: 2 } };
    await open(store).set(TEAM, MONTH, AUTHOR);
    await open(store).set('env=ci', MONTH, AUTHOR);
    const tags = open(store, { keyDefaults: {}, tags: new Map([[TEAM, configured]]) });
    await tags.refresh();
    assert.deepEqual(
      tags.shared().tags,
      new Map([
        [TEAM, configured],
        ['env=ci', MONTH],
      ]),
    );
    assert.deepEqual([tags.originOf(TEAM), tags.originOf('env=ci')], ['configuration', 'store']);
    const refused = {
      code: 'set_in_configuration',
      status: 409,
      message: 'The limits and budgets of the tag team=search are set in polygate.yaml; change them there.',
    };
    await assert.rejects(tags.set(TEAM, MONTH, AUTHOR), refused);
    await assert.rejects(tags.remove(TEAM, AUTHOR), refused);
  });
});

test('are set for ten thousand tags at most', async (context) => {
  const store = await openTestSqlite(context);
  const set = (tag: string) => store.call('setTagAllotment', { tag, allotment: MONTH, author: AUTHOR, now: NOON });
  for (let first = 0; first < 10_000; first += 500)
    await Promise.all(Array.from({ length: 500 }, (_, index) => set(`customer=c${first + index}`)));
  await assert.rejects(set('customer=more'), { code: 'invalid_request', message: /^At most 10000 tags have limits/ });
  await set('customer=c0');
});
