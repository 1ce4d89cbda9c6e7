/** The page of figures: exactly what its results file says. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generated, generatedPart, PAGE } from '../../bench/report/document.ts';
import { plotsOf } from '../../bench/report/plots.ts';
import { RESULTS_FOLDER, readResults } from '../../bench/report/results.ts';
import { rows } from '../../bench/rows/index.ts';

const part = generatedPart(readFileSync(PAGE, 'utf8'));
const [, file = ''] = /\.\.\/bench\/results\/([\w.+-]+\.json)\)/.exec(part) ?? [];

test('the table of docs/performance.md is that of the committed results file', () => {
  assert.ok(existsSync(join(RESULTS_FOLDER, file)), `${file} is in bench/results`);
  assert.equal(part, generated(readResults(join(RESULTS_FOLDER, file)), file, rows));
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
