/** Verdicts as a table for people, and as JSON for programs. */

import { FEATURES, type Feature, type Outcome } from './expectation.ts';
import type { FramingVerdict } from './framing.ts';
import type { Corpus } from './recordings.ts';
import type { Verdict } from './trial.ts';

const OUTCOMES: readonly Outcome[] = ['equal', 'adapted', 'refused', 'different'];
const SHOWN = 5;

interface Row {
  pair: string;
  feature: Feature;
  cases: number;
  counts: Record<Outcome, number>;
  verdicts: Verdict[];
}

function rowsOf(verdicts: Verdict[]): Row[] {
  const groups = Map.groupBy(verdicts, ({ from, to, feature }) => `${from} > ${to} ${feature}`);
  const rows = [...groups.values()].map((group): Row => {
    const [{ from, to, feature }] = group as [Verdict];
    const counts = { equal: 0, adapted: 0, refused: 0, different: 0 };
    for (const { outcome } of group) counts[outcome]++;
    return { pair: `${from} > ${to}`, feature, cases: group.length, counts, verdicts: group };
  });
  const order = ({ feature }: Row) => FEATURES.indexOf(feature);
  return rows.sort((one, other) => one.pair.localeCompare(other.pair) || order(one) - order(other));
}

/** A client protocol `>` an upstream's, each with its features; then what differs, and the sum of it. */
export function table(verdicts: Verdict[], framings: FramingVerdict[], { uncovered, recordings }: Corpus): string {
  const rows = rowsOf(verdicts);
  const lines = [['client > upstream', 'feature', 'cases', ...OUTCOMES].map(pad).join('')];
  for (const { pair, feature, cases, counts } of rows) {
    lines.push([pair, feature, cases, ...OUTCOMES.map((outcome) => counts[outcome] || '')].map(pad).join(''));
  }
  lines.push('', `${recordings.length} recordings; not yet covered: ${listed(uncovered)}`);
  for (const row of rows) lines.push(...differences(row));
  lines.push(...framingLines(framings));
  const failed = differencesIn(verdicts, framings);
  lines.push('', `${verdicts.length + framings.length - failed} passed, ${failed} failed`);
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

export function differencesIn(verdicts: Verdict[], framings: FramingVerdict[]): number {
  const different = verdicts.filter(({ outcome }) => outcome === 'different').length;
  return different + framings.filter(({ detail }) => detail !== undefined).length;
}

function framingLines(framings: FramingVerdict[]): string[] {
  if (framings.length === 0) return [];
  const messages = framings.reduce((sum, framing) => sum + framing.messages, 0);
  const lines = ['', `streams in the framing aws-event-stream: ${framings.length}, with ${messages} messages`];
  for (const { id, scenario, detail } of framings) if (detail) lines.push(`  ${id} ${scenario}`, `    ${detail}`);
  return lines;
}

const WIDTHS = [22, 11, 7, 8, 9, 9, 10];

function pad(cell: string | number, column: number): string {
  const width = WIDTHS[column] ?? 0;
  return column < 2 ? String(cell).padEnd(width) : String(cell).padStart(width);
}

function listed(uncovered: Record<string, number>): string {
  return Object.entries(uncovered)
    .map(([protocol, count]) => `${protocol} ${count}`)
    .join(', ');
}

function differences({ pair, feature, counts, verdicts }: Row): string[] {
  if (counts.different === 0) return [];
  const found = verdicts.filter(({ outcome }) => outcome === 'different');
  const shown = found
    .slice(0, SHOWN)
    .map(({ id, form, scenario, detail }) => `  ${id} ${form} ${scenario}\n    ${detail}`);
  const more = found.length > SHOWN ? [`  and ${found.length - SHOWN} more`] : [];
  return ['', `${pair}: ${feature}`, ...shown, ...more];
}

export function report(verdicts: Verdict[], framings: FramingVerdict[], { uncovered, recordings }: Corpus): unknown {
  const rows = rowsOf(verdicts).map(({ pair, feature, cases, counts }) => ({ pair, feature, cases, ...counts }));
  return {
    recordings: recordings.length,
    uncovered,
    framings,
    rows,
    findings: verdicts.filter(({ outcome }) => outcome !== 'equal'),
  };
}
