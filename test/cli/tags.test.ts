/** `polygate tags`: limits and budgets of tags, as a person and as a program see them. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { program } from './program.ts';

test('limits and budgets of a tag are set, merged, listed and removed', async (context) => {
  const { run, folder } = program(context);
  writeFileSync(join(folder, 'polygate.yaml'), 'tags: { env=ci: { limits: { concurrent_requests: 2 } } }\n');
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const set = await json('tags', 'set', 'team=search', '--rpm', '60', '--budget', 'day=5.00', 'month=50');
  assert.deepEqual(
    [set.tag, set.keys, set.origin, set.limits],
    ['team=search', 0, 'store', { requests_per_minute: 60 }],
  );
  assert.deepEqual([set.budgets.day.limit, set.budgets.month.left], ['5', '50']);
  await run(['keys', 'create', '--name', 'laptop', '--tag', 'team=search', '--owner', 'Ana']);

  const shown = await run(['tags', 'set', 'team=search', '--rpm', 'none', '--concurrent', '3', '--budget', 'day=none']);
  assert.match(shown.stdout, /^keys\t1\norigin\tstore\nlimits\.concurrent_requests\t3\nbudgets\.month\.limit\t50\n/m);
  const { stdout } = await run(['tags', 'list']);
  assert.equal(
    stdout,
    'env=ci\t0\t2 requests at once\t\t0\tconfiguration\nteam=search\t1\t3 requests at once\tmonth 50, 50 left\t0\tstore\n',
  );
  assert.match((await run(['keys', 'show', 'laptop'])).stdout, /^owner\tAna\ntags\.team\tsearch\n/m);

  const removed = await run(['tags', 'remove', 'team=search']);
  assert.equal(removed.stdout, 'The tag team=search has no limits and no budgets any more.\n');
  assert.deepEqual((await json('tags', 'list'))[1].limits, {});
  const actions = (await json('audit', '--subject', 'team=search')).map(({ action }: { action: string }) => action);
  assert.deepEqual(actions, ['tag.remove', 'tag.set', 'tag.set']);
});

test('a change that another operator makes meanwhile stays', async (context) => {
  const { run, folder } = program(context);
  await run(['tags', 'set', 'team=search', '--budget', 'month=50']);
  const state = new DatabaseSync(join(folder, 'data', 'state.db'));
  context.after(() => state.close());
  // The other change comes after the command has looked, and just before it writes.
  state.exec(`CREATE TRIGGER other_operator AFTER UPDATE ON version WHEN new.subject = 'tags' BEGIN
    UPDATE tag_allotment SET allotment = json_set(allotment, '$.limits.tokensPerMinute', 5000);
  END`);
  const { stdout, stderr } = await run(['tags', 'set', 'team=search', '--rpm', '60', '--budget', 'day=5', '--json']);
  assert.equal(stderr, '');
  const { limits, budgets } = JSON.parse(stdout);
  assert.deepEqual(limits, { requests_per_minute: 60, tokens_per_minute: 5000 });
  assert.deepEqual([budgets.day.limit, budgets.month.limit], ['5', '50']);
});

test('tags of the configuration, other words and empty changes are refused in one line', async (context) => {
  const { run, folder } = program(context);
  writeFileSync(join(folder, 'polygate.yaml'), 'tags: { env=ci: { budgets: { day: "1" } } }\n');
  for (const [args, message] of [
    [['set', 'env=ci', '--rpm', '6'], /^The limits and budgets of the tag env=ci are set in .*polygate\.yaml; change/],
    [
      ['remove', 'env=ci'],
      /^The limits and budgets of the tag env=ci are set in .*polygate\.yaml; change them there\./,
    ],
    [['remove', 'env=prod'], /^The tag env=prod has no limits and no budgets\./],
    [['set', 'search', '--rpm', '6'], /^The tag must be name=value, such as team=search\./],
    [['set', 'team=search'], /^Give a limit or a budget with --rpm, --tpm, --concurrent or --budget; tags remove/],
    [['set', 'team=search', '--budget', 'year=5'], /^--budget must be USD in day, week, month, total/],
  ] as const) {
    const { code, stderr } = await run(['tags', ...args]);
    assert.equal(code, 1);
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
});
