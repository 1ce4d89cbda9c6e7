/**
 * Benchmark `npm run bench [-- --quick | --long] [--only ROW]... [--against FOLDER] [--peers]`,
 * `-- --check`, `-- --micro [WORD...]`, `-- --publish`, `-- --write-docs [FILE]`: what a request costs, in alternation with nginx and a bare
 * relay, on the loopback interface. Progress on standard error, the table on standard output, and a file in `bench/results`.
 */

import { setPriority } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { check } from './check.ts';
import { endEverything } from './host/children.ts';
import { runMicro } from './micro/main.ts';
import { writePage } from './report/document.ts';
import { describeMachine } from './report/machine.ts';
import { commitOf, replaceRows, resultsFile, writeResults } from './report/results.ts';
import { terminalTable } from './report/table.ts';
import { rows } from './rows/index.ts';
import { measureRows } from './run.ts';
import { hasNginx } from './subjects/nginx.ts';
import { installPeers } from './subjects/peers.ts';

/** No row begins later. */
const LAST_ROW_MS = { quick: 3 * 60_000, full: 9.5 * 60_000, long: 60 * 60_000 };
/** A run that hangs ends by itself, so long after the last row. */
const LONGEST_ROW_MS = 5 * 60_000;
const QUICK_SCALE = 0.3;
const RAISED_PRIORITY = -10;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    /** Compares with the baseline. */
    check: { type: 'boolean', default: false },
    'write-baseline': { type: 'boolean', default: false },
    /** Writes docs/performance.md from the results file that is named, or else from the latest. */
    'write-docs': { type: 'boolean', default: false },
    /** Steps of a request without sockets; more arguments choose by a word in the name. */
    micro: { type: 'boolean', default: false },
    /** A complete run, then the page and the baseline. */
    publish: { type: 'boolean', default: false },
    /** Installs other gateways. */
    peers: { type: 'boolean', default: false },
    /** Folder of another checkout. */
    against: { type: 'string' },
    /** Raises the priority of all processes of the benchmark, where the system allows it. */
    priority: { type: 'boolean', default: false },
    /** Replaces rows of a results file by those of this run. */
    into: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.on('exit', endEverything);

const mode = values.quick ? 'quick' : values.long ? 'long' : 'full';
const began = performance.now();
setTimeout(() => {
  process.stderr.write('The benchmark takes too long, and ends.\n');
  process.exit(1);
}, LAST_ROW_MS[mode] + LONGEST_ROW_MS).unref();

if (values['write-docs']) {
  writePage(resultsFile(positionals[0]), rows);
  process.exit(0);
}
if (values.micro) {
  runMicro(positionals);
  process.exit(0);
}
if (values.check) process.exit((await check({ write: values['write-baseline'], say })) ? 0 : 1);

const chosen = rows.filter(({ id, isLong }) =>
  values.only.length === 0 ? values.long || !isLong : values.only.includes(id),
);
if (chosen.length === 0 || values.only.some((id) => !rows.some((row) => row.id === id))) {
  process.stderr.write(`There are these rows:\n${rows.map(({ id, title }) => `  ${id}: ${title}\n`).join('')}`);
  process.exit(2);
}
if (!hasNginx) process.stderr.write('\nNGINX IS NOT INSTALLED: all ratios are to the bare relay alone.\n\n');

if (values.priority) setPriority(RAISED_PRIORITY);
if (values.peers) await installPeers(say);
const machine = describeMachine(hasNginx, values.priority);
const figures = await measureRows(chosen, {
  scale: values.quick ? QUICK_SCALE : 1,
  deadline: began + LAST_ROW_MS[mode],
  against: values.against && resolve(values.against),
  say,
});
const results = { date: new Date().toISOString().slice(0, 10), commit: commitOf(), mode, machine, figures };
if (values.into) say(`written: ${replaceRows(resolve(values.into), results)}`);
process.stdout.write(`${terminalTable(figures, rows)}`);
if (values.only.length === 0 && !values.keep && values.into === undefined && values.against === undefined) {
  const file = writeResults(results);
  say(`written: ${file}`);
  if (values.publish) {
    writePage(file, rows);
    await check({ write: true, say });
  }
}
process.exit(0);

function say(text: string): void {
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}
