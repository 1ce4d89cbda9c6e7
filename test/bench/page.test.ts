/** The page of figures: exactly what its results file says. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Figure } from '../../bench/figure.ts';
import type { Cost } from '../../bench/measure.ts';
import { generated, PAGE } from '../../bench/report/document.ts';
import { generatedPart } from '../../bench/report/markdown.ts';
import { plotsOf } from '../../bench/report/plots.ts';
import { RESULTS_FOLDER, type Results, readResults } from '../../bench/report/results.ts';
import { generatedSizing, SIZING_PAGE } from '../../bench/report/sizing.ts';
import { TARGETS, targetOf } from '../../bench/report/targets.ts';
import { rows } from '../../bench/rows/index.ts';
import { peerFigures } from '../../bench/rows/whole.ts';
import { peers } from '../../bench/subjects/peers.ts';
import type { Subject } from '../../bench/subjects/subject.ts';
import { passthrough } from '../../bench/workload.ts';

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
  // A gateway that was not measured has no figure at all.
  const isLeftOut = (subject: string) =>
    peers.some(({ name }) => name === subject) && !figures.some((one) => one.subject === subject);
  const targets = TARGETS.filter(({ subject = 'strict' }) => !isLeftOut(subject));
  for (const { row, metric, subject = 'strict' } of targets)
    assert.ok(figures.some((one) => one.row === row && one.metric === metric && one.subject === subject));
  const cells = part.match(/^\|.*[≤≥].*$/gm) ?? [];
  assert.equal(cells.length, targets.length);
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

test('targets of other gateways are judged where these were measured, and only there', () => {
  const warm = (name: string, cpu: number): Pick<Cost, 'entry' | 'cpu'> => {
    const subject: Subject = {
      ...{ name, pid: 0, readyAfter: 0, answered: 0 },
      target: () => undefined,
      stop: async () => {},
    };
    return { entry: { subject, workload: passthrough }, cpu };
  };
  const costs = [
    warm('nginx', 15),
    warm('strict', 70),
    warm('portkey', 419),
    warm('litellm', 7000),
    warm('noveum', 140),
  ];
  const others = costs.slice(2).map(({ entry }) => entry.subject);
  const measured = peerFigures(passthrough, { costs, peers: others });
  assert.deepEqual(
    measured.map(({ subject, metric, value }) => [subject, metric, value]),
    [
      ['portkey', 'cpu warm by strict', 5.986],
      ['litellm', 'cpu warm by strict', 100],
      ['noveum', 'cpu warm by strict', 2],
    ],
  );
  assert.deepEqual(measured.map(targetOf), [
    { text: '≥ 6 x', verdict: 'MISSED' },
    { text: '≥ 100 x', verdict: 'met' },
    undefined,
  ]);
  assert.deepEqual(peerFigures(passthrough, { costs, peers: [] }), []);

  const own: Figure = { row: 'passthrough', subject: 'strict', metric: 'written', value: 1, unit: 'KiB' };
  const { machine } = readResults(join(RESULTS_FOLDER, file));
  const common: Results = { ...{ date: '2026-01-01', commit: 'c', mode: 'full', machine }, figures: [own] };
  const without = generated(common, 'f.json', rows);
  assert.ok(without.includes('**0 of 1 targets are MISSED in this run**; 1 are met.'));
  assert.ok(!without.includes('Other gateways'));
  const withOthers = { ...common, peers: { portkey: '1.2.3', noveum: '2.0.0' }, figures: [own, ...measured] };
  const page = generated(withOthers, 'f.json', rows);
  assert.ok(page.includes('**1 of 3 targets are MISSED in this run**; 2 are met.'));
  assert.ok(page.includes('\nOther gateways: portkey 1.2.3, noveum 2.0.0.\n'));
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
