/** Options of the benchmark: those that docs/performance.md names, and rows that exist. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { microCases } from '../../bench/micro/main.ts';
import { chooseRows, isComplete, readOptions } from '../../bench/options.ts';
import { PAGE } from '../../bench/report/document.ts';
import { targetOf } from '../../bench/report/targets.ts';
import { rows } from '../../bench/rows/index.ts';

test('the benchmark accepts every call that its page shows, and no other option', () => {
  const calls = [...readFileSync(PAGE, 'utf8').matchAll(/^npm run bench(?: -- ([^#\n]*))?/gm)];
  assert.ok(calls.length >= 9);
  for (const [call, args = ''] of calls) {
    const options = readOptions(args.split(' ').filter(Boolean));
    assert.notEqual(chooseRows(rows, options), undefined, call);
  }
  assert.throws(() => readOptions(['--fast']), /Unknown option '--fast'/);
});

test('an option chooses the task, the length and the rows', () => {
  const chosen = (...args: string[]) => chooseRows(rows, readOptions(args))?.map(({ id }) => id);
  const short = rows.filter(({ isLong }) => !isLong).map(({ id }) => id);
  assert.deepEqual(chosen(), short);
  assert.deepEqual(chosen('--quick'), short);
  assert.deepEqual(
    chosen('--long'),
    rows.map(({ id }) => id),
  );
  assert.deepEqual(chosen('--only', 'webhooks', '--only', 'start'), ['start', 'webhooks']);
  assert.equal(chosen('--only', 'start', '--only', 'nothing'), undefined);
  assert.equal(readOptions(['--check', '--write-baseline']).task, 'check');
  assert.deepEqual(readOptions(['--micro', 'journal']).names, ['journal']);
  assert.equal(readOptions(['--micro', 'journal']).task, 'micro');
  assert.equal(readOptions(['--write-docs']).task, 'write-docs');
});

test('only a run of everything, of this checkout alone, becomes a results file', () => {
  assert.equal(isComplete(readOptions(['--quick'])), true);
  for (const args of [['--only', 'start'], ['--keep'], ['--into', 'x.json'], ['--against', '../other']]) {
    assert.equal(isComplete(readOptions(args)), false, args.join(' '));
  }
});

test('rows have ids of their own', () => {
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
  assert.equal(targetOf({ row: 'nothing', subject: 'strict', metric: 'cpu', value: 1, unit: 'us' }), undefined);
});

test('every case of the micro-benchmark runs', () => {
  const cases = microCases([]);
  for (const { run } of cases) run();
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
  assert.deepEqual(
    microCases(['chat: stream']).map(({ name }) => name),
    ['chat: stream of 100 frames decoded', 'chat: stream of 100 frames encoded'],
  );
});
