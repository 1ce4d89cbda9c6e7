/** The generated parts of pages from a results file: the table and the plots of docs/performance.md, and the figures of docs/sizing.md. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Figure } from '../figure.ts';
import { markdownTable, withGeneratedPart } from './markdown.ts';
import { plotsOf } from './plots.ts';
import { type Results, readResults } from './results.ts';
import { generatedSizing, SIZING_PAGE } from './sizing.ts';
import { amount } from './table.ts';
import { targetOf, type Verdict } from './targets.ts';

export const PAGE = join(import.meta.dirname, '../../docs/performance.md');
const PLOTS = join(import.meta.dirname, '../../docs/performance');
const HEADERS = ['Case', 'Program', 'Measure', 'Value', 'x nginx', 'x bare', 'Target'];

interface Titled {
  id: string;
  title: string;
}

/** `path` is that of a results file. */
export function writePages(path: string, rows: readonly Titled[]): void {
  const results = readResults(path);
  mkdirSync(PLOTS, { recursive: true });
  for (const [name, svg] of Object.entries(plotsOf(results, rows))) writeFileSync(join(PLOTS, name), svg);
  replacePart(PAGE, generated(results, basename(path), rows));
  replacePart(SIZING_PAGE, generatedSizing(results));
}

function replacePart(page: string, part: string): void {
  writeFileSync(page, withGeneratedPart(readFileSync(page, 'utf8'), part));
}

export function generated(results: Results, file: string, rows: readonly Titled[]): string {
  const lines = rows.flatMap(({ id, title }) =>
    results.figures.filter(({ row }) => row === id).map((one, index) => cellsOf(one, index === 0 ? title : '')),
  );
  return [provenance(results, file), verdictsOf(results, rows), markdownTable([HEADERS, ...lines])].join('\n\n');
}

/** How many targets the run misses. */
function verdictsOf({ figures }: Results, rows: readonly Titled[]): string {
  const shown = figures.filter(({ row }) => rows.some(({ id }) => id === row));
  const verdicts = shown.flatMap((one) => targetOf(one)?.verdict ?? []);
  const count = (verdict: Verdict) => verdicts.filter((each) => each === verdict).length;
  const others = [`${count('met')} are met`];
  if (count('NOT JUDGED') > 0) others.push(`${count('NOT JUDGED')} are not judged, because the run was without nginx`);
  const missed = `**${count('MISSED')} of ${verdicts.length} targets are MISSED in this run**`;
  return `${missed}; ${others.join(', ')}. The [caveats](#caveats) say how far the figures depend on the machine.`;
}

function provenance({ date, commit, mode, machine, peers = {} }: Results, file: string): string {
  const { cores, processor, memoryGiB, kernel, node, load, nginx, priority, disk } = machine;
  const versions = Object.entries(peers).map((entry) => entry.join(' '));
  return [
    `Commit ${commit}, ${date}, a ${mode} run, in [${file}](../bench/results/${file}).`,
    `The machine: ${cores} cores (${processor}), ${memoryGiB} GiB of memory, Linux ${kernel}, Node ${node};`,
    `store ${disk === 'disk' ? 'on a disk' : 'in memory'}; ${nginx ? 'with nginx' : 'without nginx'};`,
    `load average before the run ${load}${priority ? '; the processes of the benchmark at a raised priority' : ''}.`,
    ...(versions.length > 0 ? [`Other gateways: ${versions.join(', ')}.`] : []),
  ].join('\n');
}

function cellsOf(one: Figure, title: string): string[] {
  const target = targetOf(one);
  const ratio = (value: number | undefined) => (value === undefined ? '' : value.toFixed(value < 10 ? 2 : 1));
  return [
    ...[title, one.subject, one.metric, `${amount(one.value)} ${one.unit}${one.note ? ` (${one.note})` : ''}`],
    ...[ratio(one.toNginx), ratio(one.toBare), target ? `${target.text}: ${target.verdict}` : ''],
  ];
}
