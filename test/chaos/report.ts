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

/** Replaces what stands between the markers; sections of scenarios that did not run stay as they are. */
export function writeDocument(
  path: string,
  results: readonly Result[],
  { all, machine }: { all: readonly Scenario[]; machine: Machine },
): void {
  const text = readFileSync(path, 'utf8');
  const [before = '', rest] = text.split(START);
  const [generated, after] = rest?.split(END) ?? [];
  if (generated === undefined || after === undefined) throw new Error(`${path} lacks its markers`);
  const known = new Map(generated.split(/^(?=### )/m).map((part) => [titleOf(part), part.trim()]));
  for (const result of results) known.set(result.scenario.title, section(result));
  const sections = all.flatMap(({ title }) => known.get(title) ?? []);
  writeFileSync(path, [before + START, head(sections, machine), ...sections, END + after].join('\n\n'));
}

function titleOf(part: string): string {
  return /^### (.*)$/m.exec(part)?.[1] ?? '';
}

function head(sections: readonly string[], machine: Machine): string {
  const count = (verdict: string) => sections.join('\n').split(`| ${verdict} `).length - 1;
  const missed = count('MISSED');
  const left = count('NOT RUN');
  const verdict = `${missed === 0 ? 'Every target was met' : `Targets missed: ${missed}`}${left === 0 ? '' : `; figures that could not be taken: ${left}`}.`;
  return `Measured on ${describe(machine)}. ${verdict}`;
}

function describe({ load, sqlite, postgres }: Machine): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  const engines = [
    `Node ${process.versions.node}`,
    `SQLite ${sqlite}`,
    ...(postgres ? [`PostgreSQL ${postgres}`] : []),
  ];
  const machine = `a ${process.platform}-${process.arch} machine with ${cpus().length} cores and ${memory} GiB of memory`;
  return `${machine}, with ${engines.join(', ')}; gateways, receivers, upstreams and databases all share it. Its load before the first scenario was ${load.toFixed(1)}`;
}

function section({ scenario, seconds, figures }: Result): string {
  const cells = figures.map(({ name, measured, target = '', verdict }) => [name, measured, target, verdict]);
  const head = ['Figure', 'Measured', 'Target', ''];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => (row[column] ?? '').length), 3),
  );
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const table = [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...cells.map(line)];
  const run = `On ${new Date().toISOString().slice(0, 10)}, in ${seconds.toFixed(0)} s: \`npm run test:chaos -- ${scenario.id}\`.`;
  return `### ${scenario.title}\n\n${scenario.how} ${run}\n\n${table.join('\n')}`;
}
