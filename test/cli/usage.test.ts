/** `polygate usage` beside a gateway's data. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { pino } from 'pino';
import { openStore } from '../../src/store/open.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { completion, intent } from '../usage/records.ts';
import { program } from './program.ts';

test('sums by whatever is asked for, for people and for programs', { timeout: 60_000 }, async (context) => {
  const { run, folder } = program(context);
  const config = 'keys: [{ name: laptop, key: sk-test-0123456789abcdef }]\n';
  const store = await openStore({ data: `${folder}/data`, role: 'owner' });
  const log = pino({ level: 'silent' });
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log });
  for (const [id, keyId, tags, status] of [
    ['a', 'config:laptop', 'env=prod team=search', 'completed'],
    ['b', 'config:laptop', 'team=search', 'failed'],
    ['c', 'gone', '', 'completed'],
  ] as const) {
    const request = intent(id, { startedAt: Date.now(), keyId, tags });
    await recorder.begin(request);
    await recorder.finish(request, completion({ cost: 1_500_000n, status }));
    await recorder.flushed();
  }
  await store.close();
  writeFileSync(`${folder}/polygate.yaml`, config);

  const table = await run(['usage', '--by', 'key,model']);
  assert.equal(table.code, 0, table.stderr);
  assert.deepEqual(
    table.stdout.trimEnd().split('\n'),
    [
      ['laptop', 'openai/gpt-5', '2', '1', '0', '240', '60', '40', '0.000003'],
      ['gone', 'openai/gpt-5', '1', '0', '0', '120', '30', '20', '0.0000015'],
      ['total', '', '3', '1', '0', '360', '90', '60', '0.0000045'],
    ].map((cells) => cells.join('\t')),
  );
  const rows = async (by: string) => {
    const { stdout } = await run(['usage', '--by', by]);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').slice(0, by.split(',').length + 1));
  };
  assert.deepEqual(await rows('tag:team'), [
    ['(none)', '1'],
    ['search', '2'],
    ['total', '3'],
  ]);
  assert.deepEqual(await rows('tag:env,status'), [
    ['(none)', 'completed', '1'],
    ['prod', 'completed', '1'],
    ['(none)', 'failed', '1'],
    ['total', '', '3'],
  ]);
  assert.deepEqual(await rows('protocol'), [
    ['chat', '3'],
    ['total', '3'],
  ]);
  const json = await run(['usage', '--key', 'laptop', '--from', '7d', '--json']);
  const { by, total } = JSON.parse(json.stdout);
  assert.deepEqual([by, total.requests, total.cost], [['day'], 2, '0.000003']);
  const zoned = await run(['usage', '--by', 'month', '--zone', 'Europe/Berlin', '--json']);
  assert.equal(JSON.parse(zoned.stdout).zone, 'Europe/Berlin');
  for (const [by, message] of [
    [
      'moon',
      /by must be a list of .*hour, day, week, month, model, provider, key, protocol, status and tag:<name>, not "moon"/,
    ],
    ['tag', /and tag:<name>, not "tag"/],
  ] as const) {
    const { code, stderr } = await run(['usage', '--by', by]);
    assert.equal(code, 1);
    assert.match(stderr, message);
  }
  assert.equal((await run(['usage', '--key', 'nobody'])).code, 1);
  const odd = await run(['usage', '--from', 'bogus']);
  assert.equal(odd.code, 1);
  assert.match(odd.stderr, /^--from must be an ISO date or time .*, or how long ago such as 7d\.$/m);
});

test('the cost of a model without a price is unknown, and zero of one that is free', {
  timeout: 60_000,
}, async (context) => {
  const { run, folder } = program(context);
  const store = await openStore({ data: `${folder}/data`, role: 'owner' });
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log: pino({ level: 'silent' }) });
  for (const [id, provider, model] of [
    ['a', 'local', 'llama'],
    ['b', 'sandbox', 'echo'],
  ] as const) {
    const endpoint = { provider, model };
    const request = intent(id, { startedAt: Date.now(), endpoint });
    await recorder.begin(request);
    await recorder.finish(request, completion({ endpoint, cost: 0n }));
    await recorder.flushed();
  }
  await store.close();
  const local = '{ type: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key: x, models: discover }';
  writeFileSync(`${folder}/polygate.yaml`, `providers: { local: ${local} }\n`);
  const byModel = await run(['usage', '--by', 'model']);
  assert.equal(byModel.code, 0, byModel.stderr);
  const costs = byModel.stdout
    .trimEnd()
    .split('\n')
    .map((line) => [line.split('\t')[0], line.split('\t').at(-1)]);
  assert.deepEqual(costs, [
    ['local/llama', 'unknown'],
    ['sandbox/echo', '0'],
    ['total', 'unknown'],
  ]);
  assert.match(byModel.stderr, /^Not in these sums is the cost of models without a known price: local\/llama\.$/m);
  const byDay = await run(['usage', '--json']);
  const { models_without_price: models, data, total } = JSON.parse(byDay.stdout);
  assert.deepEqual(models, ['local/llama']);
  assert.deepEqual([data[0].cost, total.cost, total.unpriced_tokens], [null, null, 150]);

  const costOf = (line: string) => [JSON.parse(line).model, JSON.parse(line).cost];
  const tailed = (await run(['tail', '--once', '--json'])).stdout.trimEnd().split('\n');
  assert.deepEqual(new Map(tailed.map(costOf) as [string, string | null][]).get('local/llama'), null);
  assert.deepEqual(new Map(tailed.map(costOf) as [string, string | null][]).get('sandbox/echo'), '0');
  assert.match((await run(['tail', '--once'])).stdout, / {2}local\/llama {2}completed {2}\d+\/\d+ {2}unknown cost {2}/);
  const top = JSON.parse((await run(['top', '--json'])).stdout);
  assert.deepEqual([top.cost_per_hour, top.unknown_costs], [null, 1]);
  const ofTop = new Map(top.requests.map(({ model, cost }: { model: string; cost: string | null }) => [model, cost]));
  assert.deepEqual([ofTop.get('local/llama'), ofTop.get('sandbox/echo')], [null, '0']);
});

test('the shares of estimates are said, and what broke off has a column', { timeout: 60_000 }, async (context) => {
  const { run, folder } = program(context);
  const store = await openStore({ data: `${folder}/data`, role: 'owner' });
  const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log: pino({ level: 'silent' }) });
  for (const [id, estimated, cost] of [
    ['a', false, 30n],
    ['b', true, 10n],
  ] as const) {
    const usage = { input: 50, output: 50, estimated };
    const request = intent(id, { startedAt: Date.now() });
    await recorder.finish(
      request,
      completion({ cost: cost * 10n ** 9n, usage, status: estimated ? 'partial' : 'completed' }),
    );
  }
  await recorder.close(10_000);
  await store.close();
  const { stdout, stderr } = await run(['usage', '--by', 'key']);
  assert.match(stderr, /^Estimated are 50\.0 % of the tokens and 25\.0 % of the cost\.$/m);
  const total = stdout.trimEnd().split('\n').at(-1) ?? '';
  assert.deepEqual(total.split('\t'), ['total', '2', '0', '1', '100', '100', '0', '0.04']);
});
