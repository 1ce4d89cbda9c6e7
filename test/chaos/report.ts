/** The figures as a table for terminals, and as the generated part of the document on reliability. */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import type { Figure } from './figures.ts';
import type { Scenario } from './stage.ts';

export interface Result {
  scenario: Scenario;
  seconds: number;
  figures: Figure[];
}

const START = '<!-- figures: written by npm run test:chaos -->';
const END = '<!-- end of figures -->';

export function terminalTable(results: readonly Result[]): string {
  return results
    .map(({ scenario, seconds, figures }) => {
      const width = Math.max(...figures.map(({ name }) => name.length));
      const lines = figures.map(({ name, measured, target = '', verdict }) =>
        `  ${verdict.padEnd(8)} ${name.padEnd(width)}  ${measured.padStart(12)}  ${target}`.trimEnd(),
      );
      return `${scenario.id}: ${scenario.title} (${seconds.toFixed(0)} s)\n${lines.join('\n')}\n`;
    })
    .join('\n');
}

export interface Machine {
  /** Processes that wanted a core before the first scenario, on average. */
  load: number;
  sqlite: string;
  /** Absent where no scenario used it. */
  postgres?: string;
}

/** Replaces what stands between the markers. */
export function writeDocument(path: string, results: readonly Result[], machine: Machine): void {
  const text = readFileSync(path, 'utf8');
  const [before, rest] = text.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${path} lacks its markers`);
  writeFileSync(path, `${before}${START}\n\n${document(results, machine)}\n${END}${after}`);
}

function document(results: readonly Result[], machine: Machine): string {
  const missed = results.flatMap(({ figures }) => figures).filter(({ verdict }) => verdict === 'MISSED').length;
  const left = results.flatMap(({ figures }) => figures).filter(({ verdict }) => verdict === 'NOT RUN').length;
  const verdict = `${missed === 0 ? 'Every target was met' : `${missed} targets were missed`}${left === 0 ? '' : `; ${left} figures could not be taken on this machine`}.`;
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)} on ${describe(machine)}. ${verdict}`,
    ...results.map(section),
  ].join('\n\n');
}

function describe({ load, sqlite, postgres }: Machine): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  const engines = [
    `Node ${process.versions.node}`,
    `SQLite ${sqlite}`,
    ...(postgres ? [`PostgreSQL ${postgres}`] : []),
  ];
  const machine = `a ${process.platform}-${process.arch} machine with ${cpus().length} cores and ${memory} GiB of memory`;
  return `${machine}, with ${engines.join(', ')}; gateways, receivers, upstreams and databases all share it. Before the first scenario ${load.toFixed(1)} processes of others were at work on it`;
}

function section({ scenario, seconds, figures }: Result): string {
  const cells = figures.map(({ name, measured, target = '', verdict }) => [name, measured, target, verdict]);
  const head = ['Figure', 'Measured', 'Target', ''];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => (row[column] ?? '').length), 3),
  );
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const table = [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...cells.map(line)];
  return `### ${scenario.title}\n\n${scenario.how} Took ${seconds.toFixed(0)} s; \`npm run test:chaos -- ${scenario.id}\`.\n\n${table.join('\n')}`;
}
