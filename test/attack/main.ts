/**
 * `npm run test:attack [-- WORD ...] [--write]`: runs the attacks one after the other and prints a table of what was
 * attempted, the bound, and the figure. `--write` puts the table into docs/reliability.md. Exits with 1 when one failed.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { parseArgs } from 'node:util';
import { type AttackRow, ROW_PREFIX } from './attack.ts';

const DOCUMENT = join(import.meta.dirname, '../../docs/reliability.md');
const START = '<!-- attacks: written by npm run test:attack -- --write -->';
const END = '<!-- end of attacks -->';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
});
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => positionals.length === 0 || positionals.some((word) => name.includes(word)))
  .map((name) => join(import.meta.dirname, name));
const rows: AttackRow[] = [];
const failures: string[] = [];

for await (const { type, data } of run({ files, concurrency: 1, execArgv: ['--import=./test/seed.ts'] })) {
  if (type === 'test:diagnostic' && data.message.startsWith(ROW_PREFIX)) {
    const row: AttackRow = JSON.parse(data.message.slice(ROW_PREFIX.length));
    rows.push(row);
    process.stderr.write(`ok      ${row.area}: ${row.attempt} (${row.measured})\n`);
  }
  if (type === 'test:fail') {
    failures.push(data.name);
    process.stderr.write(`FAILED  ${data.name}\n${data.details.error.stack}\n`);
  }
}
process.stdout.write(`\n${terminalTable(rows)}\n${rows.length} attacks held, ${failures.length} tests failed.\n`);
if (values.write && failures.length === 0) writeTable();
process.exitCode = failures.length === 0 ? 0 : 1;

function terminalTable(rows: readonly AttackRow[]): string {
  const cells = rows.map(({ area, by, attempt, bound, measured }) => [area, by, attempt, bound, measured]);
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}

function writeTable(): void {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [before, rest] = text.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${DOCUMENT} lacks its markers`);
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const areas = [...new Set(rows.map(({ area }) => area))].map((area) => {
    const ofArea = rows.filter((row) => row.area === area);
    const table = ofArea.map(({ by, attempt, bound, measured }) => line([by, attempt, bound, measured]));
    return [
      `### ${area}`,
      '',
      line(['By', 'Attempt', 'Bound', 'Measured']),
      line(['---', '---', '---', '---']),
      ...table,
    ].join('\n');
  });
  const date = `Measured on ${new Date().toISOString().slice(0, 10)}.`;
  writeFileSync(DOCUMENT, `${before}${START}\n\n${date}\n\n${areas.join('\n\n')}\n\n${END}${after}`);
}
