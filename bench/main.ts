/**
 * Benchmark `npm run bench [-- --quick | --long] [--only ROW]... [--against FOLDER] [--peers]`,
 * `-- --check`, `-- --micro [WORD...]`, `-- --publish`, `-- --write-docs [FILE]`: what a request costs, in alternation with nginx and a bare
 * relay, on the loopback interface. Progress on standard error, the table on standard output, and a file in `bench/results`.
 */

import { setPriority } from 'node:os';
import { resolve } from 'node:path';
import { check } from './check.ts';
import { endEverything } from './host/children.ts';
import { runMicro } from './micro/main.ts';
import { chooseRows, isComplete, readOptions } from './options.ts';
import { writePages } from './report/document.ts';
import { describeMachine } from './report/machine.ts';
import { commitOf, type Results, replaceRows, resultsFile, writeResults } from './report/results.ts';
import { terminalTable } from './report/table.ts';
import { rows } from './rows/index.ts';
import { measureRows } from './run.ts';
import { hasNginx } from './subjects/nginx.ts';
import { isInstalled } from './subjects/peer.ts';
import { installPeers, peers } from './subjects/peers.ts';

/** No row begins later. */
const LAST_ROW_MS = { quick: 3 * 60_000, full: 9.5 * 60_000, long: 60 * 60_000 };
/** Rows take so much longer for each other gateway. */
const PEER_MS = 100_000;
/** A run that hangs ends by itself, so long after the last row. */
const LONGEST_ROW_MS = 5 * 60_000;
const QUICK_SCALE = 0.3;
const RAISED_PRIORITY = -10;

const options = readOptions(process.argv.slice(2));
const { mode, task } = options;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.on('exit', endEverything);

const chosen = chooseRows(rows, options);
if (!chosen) {
  process.stderr.write(`There are these rows:\n${rows.map(({ id, title }) => `  ${id}: ${title}\n`).join('')}`);
  process.exit(2);
}

const began = performance.now();
if (options.peers && task === 'rows') await installPeers(say);
const measured = peers.filter(isInstalled);
const lastRow = performance.now() + LAST_ROW_MS[mode] + measured.length * PEER_MS;
setTimeout(
  () => {
    process.stderr.write('The benchmark takes too long, and ends.\n');
    process.exit(1);
  },
  lastRow + LONGEST_ROW_MS - performance.now(),
).unref();

if (task === 'write-docs') {
  writePages(resultsFile(options.names[0]), rows);
  process.exit(0);
}
if (task === 'micro') {
  runMicro(options.names);
  process.exit(0);
}
if (task === 'check') process.exit((await check({ write: options.writeBaseline, say })) ? 0 : 1);

if (!hasNginx) process.stderr.write('\nNGINX IS NOT INSTALLED: all ratios are to the bare relay alone.\n\n');

if (options.priority) setPriority(RAISED_PRIORITY);
const machine = describeMachine(hasNginx, options.priority);
const figures = await measureRows(chosen, {
  scale: mode === 'quick' ? QUICK_SCALE : 1,
  deadline: lastRow,
  against: options.against && resolve(options.against),
  say,
});
const versions = measured.filter(({ name }) => figures.some(({ subject }) => subject === name));
const results: Results = {
  ...{ date: new Date().toISOString().slice(0, 10), commit: commitOf(), mode, machine },
  ...(versions.length > 0 && { peers: Object.fromEntries(versions.map(({ name, version }) => [name, version])) }),
  figures,
};
if (options.into !== undefined) say(`written: ${replaceRows(resolve(options.into), results)}`);
process.stdout.write(`${terminalTable(figures, rows)}`);
if (isComplete(options)) {
  const file = writeResults(results);
  say(`written: ${file}`);
  if (options.publish) {
    writePages(file, rows);
    await check({ write: true, say });
  }
}
process.exit(0);

function say(text: string): void {
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}
