/** `polygate keys` and `polygate audit`: a key from its creation to its end, as a person and as a program see it. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { program } from './program.ts';

const OTHER_KEY = Buffer.alloc(32, 1).toString('base64');

test('a key is made with limits, changed, rotated, switched off and on', async (context) => {
  const { run } = program(context);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const scopes = ['--surfaces', 'chat,videos', '--cidrs', '10.0.0.0/8,::1', '--read-only'];
  const limits = ['--rpm', '60', '--tpm', '1000', '--concurrent', '2', '--budget', 'day=5.00', 'total=100'];
  const labels = ['--owner', 'Ana', '--tag', 'team=search', 'env=prod', '--metadata', 'ticket=INF-1'];
  const made = await json('keys', 'create', '--name', 'ci', ...scopes, ...limits, ...labels);
  assert.match(made.secret, /^sk-pg-/);
  assert.match(made.webhook_secret, /^whsec_/);
  const settings = {
    surfaces: ['chat', 'videos'],
    cidrs: ['10.0.0.0/8', '::1'],
    read_only: true,
    limits: { requests_per_minute: 60, tokens_per_minute: 1000, concurrent_requests: 2 },
    budgets: { day: '5.00', total: '100' },
    owner: 'Ana',
    tags: { team: 'search', env: 'prod' },
    metadata: { ticket: 'INF-1' },
  };
  assert.match((await run(['keys', 'list'])).stdout, /\tAna\tenv=prod,team=search\t/);
  const shown = await json('keys', 'show', 'ci');
  assert.deepEqual({ ...shown, ...settings }, shown);
  const spelled = Object.keys(shown).concat(Object.keys(shown.limits));
  assert.deepEqual(
    spelled.filter((member) => !/^[a-z_]+$/.test(member)),
    [],
  );
  assert.ok(!JSON.stringify(shown).includes(made.secret.slice(8)));

  const update = [
    'keys',
    'update',
    'ci',
    '--no-read-only',
    '--rpm',
    'none',
    '--budget',
    'day=none',
    '--surfaces',
    'all',
    '--owner',
    'none',
    '--tag',
    'env=',
    'team=ads',
  ];
  const updated = await json(...update);
  assert.equal(updated.read_only, false);
  assert.equal(updated.surfaces, null);
  assert.deepEqual(updated.limits, { tokens_per_minute: 1000, concurrent_requests: 2 });
  assert.deepEqual(updated.budgets, { total: '100' });
  assert.deepEqual([updated.owner, updated.tags, updated.metadata], [null, { team: 'ads' }, { ticket: 'INF-1' }]);

  assert.deepEqual(
    await json('keys', 'update', 'ci'),
    updated,
    'without options it changes nothing, also in the audit log',
  );

  const rotated = await run(['keys', 'rotate', 'ci', '--overlap', '1h']);
  assert.match(rotated.stdout, /^sk-pg-\S+\n$/);
  assert.match(rotated.stderr, /the one before it works for 1h more/);
  const leaked = await run(['keys', 'rotate', 'ci', '--overlap', '0']);
  assert.match(leaked.stderr, /the one before it is refused from now on:\n$/);
  assert.match((await run(['keys', 'disable', 'ci'])).stdout, /is disabled\.$/m);
  assert.equal((await json('keys', 'show', 'ci')).state, 'disabled');
  assert.match((await run(['keys', 'enable', 'ci'])).stdout, /is enabled\.$/m);
  assert.match((await run(['keys', 'show', 'ci'])).stdout, /^limits\.tokens_per_minute\t1000$/m);

  const actions = (await json('audit')).map(({ action, actor }: Record<string, string>) => `${actor}: ${action}`);
  const updates = ['key.update', 'key.update', 'key.rotate', 'key.rotate', 'key.update', 'key.create'];
  assert.deepEqual(
    actions,
    updates.map((action) => `command line: ${action}`),
  );
  const { stdout } = await run(['audit', '--limit', '1']);
  assert.match(stdout, /^\S+Z\tcommand line\tkey\.update\t\S+\t\{"name":"ci","disabled":true.*\n$/);
});

test('webhook secrets are shown, rotated with an overlap, and encrypted anew', async (context) => {
  const { folder, run } = program(context);
  const secrets = async (...args: string[]) =>
    JSON.parse((await run(['keys', 'secret', 'ci', ...args, '--json'])).stdout);
  const made = JSON.parse((await run(['keys', 'create', '--name', 'ci', '--json'])).stdout);
  const [first, ...none] = await secrets();
  assert.equal(first.secret, made.webhook_secret);
  assert.deepEqual(none, []);
  const both = await secrets('--rotate', '--activate-in', '2h');
  assert.equal(both[0].secret, first.secret);
  assert.ok(Math.abs(Date.parse(both[1].active_at) - Date.now() - 7_200_000) < 60_000);

  const file = join(folder, 'data', 'encryption.key');
  const previous = readFileSync(file, 'utf8').trim();
  writeFileSync(file, `${OTHER_KEY}\n${previous}\n`);
  assert.match((await run(['keys', 'rekey'])).stdout, /^2 secrets were encrypted anew/);
  writeFileSync(file, `${OTHER_KEY}\n`);
  assert.deepEqual(await secrets(), both);
  const [only] = await secrets('--rotate', '--activate-in', '0');
  assert.ok(!both.some(({ secret }: { secret: string }) => secret === only.secret));
  const audit = JSON.parse((await run(['audit', '--json'])).stdout);
  const reads = audit.filter(({ action }: { action: string }) => action === 'webhook-secret.read');
  assert.deepEqual([reads.length, reads[0].actor, reads[0].subject], [4, 'command line', made.id]);
});

test('invalid options are refused in one line', async (context) => {
  const { run } = program(context);
  for (const [args, message] of [
    [['--models', 'sandbox/*,gpt-4o'], /--models must be globs of models, such as openai\/gpt-5-mini or team\/\*/],
    [['--surfaces', 'chat,mail'], /--surfaces must be some of chat, messages, generate, responses, videos/],
    [['--cidrs', '10.0.0.0/33'], /--cidrs must be address ranges/],
    [['--rpm', '0'], /--rpm must be a whole number of at least 1/],
    [['--budget', 'year=5'], /--budget must be USD in day, week, month, total/],
    [['--budget', 'day=much'], /--budget must be USD/],
    // As the admin API and the configuration have it; a variable of a shell that is not set is an empty name.
    [['--name', ''], /--name must have 1 to 100 characters/],
    [['--name', 'n'.repeat(101)], /--name must have 1 to 100 characters/],
    [['--name', 'a\u001b[2J'], /--name must have 1 to 100 characters and no control characters/],
  ] as const) {
    const { code, stderr } = await run(['keys', 'create', '--name', 'a', ...args]);
    assert.equal(code, 1);
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
});

test('a store that cannot be written is named with the reason, and not in the words for clients', async (context) => {
  const { run, folder } = program(context);
  assert.equal((await run(['keys', 'create', '--name', 'first'])).code, 0);
  const holder = new DatabaseSync(join(folder, 'data', 'state.db'));
  context.after(() => holder.close());
  holder.exec('BEGIN IMMEDIATE');
  const { code, stdout, stderr } = await run(['login']);
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(stderr, 'The store cannot be used: another process holds the lock (database is locked).\n');
});

test('keys are made from CSV, all or none', async (context) => {
  const { run, folder } = program(context);
  const table = join(folder, 'people.csv');
  writeFileSync(table, 'name,owner,tag:team,budget:month\nana,"Ana, A",search,25.00\nben,,,\n');
  const made = await run(['keys', 'create', '--from', table, '--csv', '--rpm', '60', '--tag', 'env=prod', 'team=none']);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stderr, /2 keys, shown once/);
  const [head, ana = '', ben = '', ...more] = made.stdout.trimEnd().split('\r\n');
  assert.equal(head, 'name,owner,tags,expires,key,webhook_secret,id');
  assert.match(ana, /^ana,"Ana, A",env=prod team=search,,sk-pg-[\w-]+,whsec_[^,]+,[\w-]+$/);
  assert.match(ben, /^ben,,env=prod team=none,,sk-pg-[\w-]+,/);
  assert.deepEqual(more, []);
  const shown = JSON.parse((await run(['keys', 'show', 'ana', '--json'])).stdout);
  assert.deepEqual([shown.limits, shown.budgets], [{ requests_per_minute: 60 }, { month: '25.00' }]);

  writeFileSync(table, 'name\ncleo\n');
  assert.match((await run(['keys', 'create', '--from', table])).stdout, /^cleo\t\t\tsk-pg-/);
  writeFileSync(table, 'name\ndora\n');
  const [dora] = JSON.parse((await run(['keys', 'create', '--from', table, '--json'])).stdout);
  assert.deepEqual([dora.name, typeof dora.secret], ['dora', 'string']);

  writeFileSync(table, 'name,rpm\nemil,5\nfritz,x\n');
  const wrong = await run(['keys', 'create', '--from', table]);
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.stderr, /Line 3: limits\.requests_per_minute must/);
  writeFileSync(table, 'name\nemil\nana\n');
  assert.match(
    (await run(['keys', 'create', '--from', table])).stderr,
    /already a key named "ana".*polygate keys rotate ana/s,
  );
  assert.doesNotMatch((await run(['keys', 'list'])).stdout, /emil/);
  assert.equal((await run(['keys', 'create', '--from', 'no.csv'])).stderr, 'no.csv: no such file\n');
  assert.match((await run(['keys', 'create'])).stderr, /--name, or several keys with --from/);
  assert.match((await run(['keys', 'create', '--from', table, '--name', 'x'])).stderr, /--name or --from/);
});

test('keys are made with the tags of key_defaults, unless they say otherwise', async (context) => {
  const { folder, run } = program(context);
  writeFileSync(join(folder, 'polygate.yaml'), 'key_defaults: { tags: { team: unassigned, env: dev } }\n');
  writeFileSync(join(folder, 'people.csv'), 'name,tag:team\nana,search\nben,\n');
  const made = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['keys', 'create', ...args, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  assert.deepEqual((await made('--name', 'ci')).tags, { team: 'unassigned', env: 'dev' });
  assert.deepEqual((await made('--name', 'cd', '--tag', 'team=ads', 'env=')).tags, { team: 'ads' });
  const several = await made('--from', 'people.csv', '--tag', 'env=');
  assert.deepEqual(
    several.map(({ tags }: { tags: object }) => tags),
    [{ team: 'search' }, { team: 'unassigned' }],
  );
});
