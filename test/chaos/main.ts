/**
 * `npm run test:chaos [-- SCENARIO...] [--keep] [--minutes N]`: kills, freezes and starves real gateways, prints what came of it, and writes
 * the figures into docs/reliability.md unless it is to be kept. Exits with 1 when a target was missed.
 */

import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { providePostgres } from '../store/postgres-server.ts';
import { type Figure, notRun } from './figures.ts';
import { type Machine, type Result, terminalTable, writeDocument } from './report.ts';
import { scenarios } from './scenarios/index.ts';
import { play, type Scenario } from './stage.ts';

const DOCUMENT = join(import.meta.dirname, '../../docs/reliability.md');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'boolean', default: false }, minutes: { type: 'string' } },
});
const chosen = scenarios.filter(({ id }) => positionals.length === 0 || positionals.includes(id));
const began = performance.now();
const [load = 0] = loadavg();

if (chosen.length === 0 || positionals.some((id) => !scenarios.some((scenario) => scenario.id === id))) {
  process.stderr.write(
    `There are these scenarios:\n${scenarios.map(({ id, title }) => `  ${id}: ${title}\n`).join('')}`,
  );
  process.exit(2);
}

// The server of the tests waits for the disk, as one in earnest does.
process.env.POSTGRES_FSYNC = 'on';
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.setMaxListeners(0);
const described = values.keep ? undefined : await machine();
const results = await perform();
process.stdout.write(`\n${terminalTable(results)}`);
const isFine = results.every(({ figures }) => figures.every(({ verdict }) => verdict !== 'MISSED'));
await drained();
process.exit(isFine ? 0 : 1);

/** Those that mostly wait run side by side; the others would disturb each other's figures. */
async function perform(): Promise<Result[]> {
  const results = new Map<Scenario, Result>();
  const one = async (scenario: Scenario) => {
    const result = await attempt(scenario);
    results.set(scenario, result);
    if (described) writeDocument(DOCUMENT, [result], { all: scenarios, machine: described });
  };
  await Promise.all(chosen.filter(({ patient }) => patient).map(one));
  for (const scenario of chosen.filter(({ patient }) => !patient)) await one(scenario);
  return chosen.flatMap((scenario) => results.get(scenario) ?? []);
}

async function attempt(scenario: Scenario): Promise<Result> {
  const start = performance.now();
  const tell = teller(scenario.id);
  let figures: Figure[];
  try {
    figures = await play(scenario, tell, values.minutes === undefined ? undefined : Number(values.minutes));
  } catch (error) {
    process.stderr.write(`${scenario.id}: ${(error as Error).stack}\n`);
    figures = [{ ...notRun('the scenario', 'it broke'), verdict: 'MISSED' }];
  }
  const seconds = (performance.now() - start) / 1000;
  const missed = figures
    .filter(({ verdict }) => verdict === 'MISSED')
    .map(({ name, measured }) => `${name}: ${measured}`);
  process.stderr.write(
    `${clock()} ${scenario.id} is over${missed.length > 0 ? `; MISSED ${missed.join(', ')}` : ''}\n`,
  );
  return { scenario, seconds, figures };
}

/** A line now and then, so that a log of it can be read too. */
function teller(id: string): (text: string) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (text) => {
    if (performance.now() - last < 2000) return;
    last = performance.now();
    process.stderr.write(`${clock()} ${id}: ${text}\n`);
  };
}

function clock(): string {
  return `${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s`;
}

async function machine(): Promise<Machine> {
  const database = new DatabaseSync(':memory:');
  const sqlite = String(database.prepare('SELECT sqlite_version() AS version').get()?.version);
  const provided = await providePostgres();
  const client = new Client({ connectionString: provided.url });
  await client.connect();
  const { rows } = await client.query('SHOW server_version');
  await client.end();
  await provided.close();
  return { load, sqlite, postgres: String(rows[0]?.server_version) };
}

async function drained(): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
}
