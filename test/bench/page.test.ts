/** The page of figures: exactly what its results file says. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Figure } from '../../bench/figure.ts';
import { generated, PAGE } from '../../bench/report/document.ts';
import { generatedPart } from '../../bench/report/markdown.ts';
import { plotsOf } from '../../bench/report/plots.ts';
import { RESULTS_FOLDER, readResults } from '../../bench/report/results.ts';
import { generatedSizing, SIZING_PAGE } from '../../bench/report/sizing.ts';
import { TARGETS, targetOf } from '../../bench/report/targets.ts';
import { rows } from '../../bench/rows/index.ts';

const part = generatedPart(readFileSync(PAGE, 'utf8'));
const [, file = ''] = /\.\.\/bench\/results\/([\w.+-]+\.json)\)/.exec(part) ?? [];

test('the table of docs/performance.md is that of the committed results file', () => {
  assert.ok(existsSync(join(RESULTS_FOLDER, file)), `${file} is in bench/results`);
  assert.equal(part, generated(readResults(join(RESULTS_FOLDER, file)), file, rows));
});

test('the figures of docs/sizing.md are those of the same file', () => {
  assert.equal(
    generatedPart(readFileSync(SIZING_PAGE, 'utf8')),
    generatedSizing(readResults(join(RESULTS_FOLDER, file))),
  );
});

test('each target of the run is marked as met or MISSED, and the page says how many are missed', () => {
  const { figures } = readResults(join(RESULTS_FOLDER, file));
  for (const { row, metric, subject = 'strict' } of TARGETS)
    assert.ok(figures.some((one) => one.row === row && one.metric === metric && one.subject === subject));
  const cells = part.match(/^\|.*[≤≥].*$/gm) ?? [];
  assert.equal(cells.length, TARGETS.length);
  for (const cell of cells) assert.match(cell, /: (?:met|MISSED) +\|$/);
  const missed = cells.filter((cell) => /: MISSED +\|$/.test(cell)).length;
  assert.ok(
    part.includes(`**${missed} of ${cells.length} targets are MISSED in this run**; ${cells.length - missed} are met`),
  );
  assert.ok(part.includes('](#caveats)'));
});

test('a target is met up to its bound, and not judged without nginx', () => {
  const judge = (values: Omit<Figure, 'unit'>) => targetOf({ unit: 'x', ...values });
  const warm = { row: 'passthrough', subject: 'strict', metric: 'cpu warm', value: 100 };
  assert.deepEqual(judge({ ...warm, toNginx: 5 }), { text: '≤ 5 x nginx', verdict: 'met' });
  assert.deepEqual(judge({ ...warm, toNginx: 5.001 }), { text: '≤ 5 x nginx', verdict: 'MISSED' });
  assert.deepEqual(judge(warm), { text: '≤ 5 x nginx', verdict: 'NOT JUDGED' });
  assert.equal(judge({ ...warm, subject: 'bare', toNginx: 1 }), undefined);
  const block = { row: '5MB', subject: 'strict', metric: 'longest block' };
  assert.deepEqual(judge({ ...block, value: 5 }), { text: '≤ 5 x', verdict: 'met' });
  assert.deepEqual(judge({ ...block, value: 5.01 }), { text: '≤ 5 x', verdict: 'MISSED' });
  const workers = { row: 'workers', subject: 'two workers', metric: 'rate by that of one' };
  assert.deepEqual(judge({ ...workers, value: 1.7 }), { text: '≥ 1.7 x', verdict: 'met' });
  assert.deepEqual(judge({ ...workers, value: 1.69 }), { text: '≥ 1.7 x', verdict: 'MISSED' });
});

test('the plots of docs/performance.md are those of the same file', () => {
  const plots = plotsOf(readResults(join(RESULTS_FOLDER, file)), rows);
  for (const [name, svg] of Object.entries(plots))
    assert.equal(readFileSync(join(PAGE, '../performance', name), 'utf8'), svg);
});

test('a results file does not identify its machine', () => {
  const text = readFileSync(join(RESULTS_FOLDER, file), 'utf8');
  // "/s" is a unit.
  assert.doesNotMatch(text, /"\/(?!s")|host|\/(?:home|work|tmp|root)\//);
});
