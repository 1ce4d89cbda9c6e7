/**
 * `npm run test:fuzz [FOLDER] [-- --runs N --seconds N --seed N]`: mutates the golden cases and the recordings of a folder.
 * Exits with 1 when something broke, with 2 when there is no such folder.
 */

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import type { ProtocolId } from '../gateway/harness.ts';
import { type Trial, trials } from './campaign.ts';
import { goldenSeeds, recordedSeeds, type Seeds } from './seeds.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Cases of each pair of protocols and kind of wire. */
    runs: { type: 'string', default: '20000' },
    /** Seconds for each of them, at most. */
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string' },
  },
});

interface Result {
  trial: Trial;
  cases: number;
  seconds: number;
  failure?: string;
}

const folder = resolve(positionals[0] ?? '../shared/corpus');
const recorded = recordedSeeds(folder);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);

if (recorded) {
  process.exitCode = await run(recorded);
} else {
  process.stderr.write(`There is no folder ${folder}. Name one with recordings: npm run test:fuzz -- FOLDER\n`);
  process.exitCode = 2;
}

async function run(recordings: Record<ProtocolId | 'responses', Seeds>): Promise<number> {
  const all = trials((protocol) => joined(goldenSeeds(protocol), recordings[protocol]));
  const results: Result[] = [];
  for (const [position, trial] of all.entries()) {
    progress(`${position + 1}/${all.length}  ${trial.kind} ${trial.from} ${trial.to}`);
    results.push(await tried(trial));
  }
  progress('');
  process.stdout.write(table(results));
  return results.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

function joined(one: Seeds, other: Seeds): Seeds {
  return {
    requests: [...one.requests, ...other.requests],
    answers: [...one.answers, ...other.answers],
    streams: [...one.streams, ...other.streams],
    errors: [...one.errors, ...other.errors],
  };
}

async function tried(trial: Trial): Promise<Result> {
  const start = performance.now();
  const details = await fc.check(trial.property, {
    seed,
    numRuns: Number(values.runs),
    interruptAfterTimeLimit: Number(values.seconds) * 1000,
  });
  const failure = details.counterexample !== null ? fc.defaultReportMessage(details) : undefined;
  return { trial, cases: details.numRuns, seconds: (performance.now() - start) / 1000, failure };
}

/** One line that is written over, on terminals only. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function table(results: readonly Result[]): string {
  const lines = results.map(
    ({ trial: { kind, from, to }, cases, seconds, failure }) =>
      `${kind.padEnd(8)} ${from.padEnd(9)} ${to.padEnd(9)} ${String(cases).padStart(8)} ${seconds.toFixed(1).padStart(6)} s  ${failure ? 'FAILED' : 'ok'}`,
  );
  const failures = results.flatMap(({ trial, failure }) =>
    failure ? [`\n${trial.kind} from ${trial.from} to ${trial.to}\n${failure}\n`] : [],
  );
  return `kind     from      to           cases    time\n${lines.join('\n')}\nseed ${seed}\n${failures.join('')}`;
}
