/**
 * `npm test`: installs everything, then checks types, lint, format and, with the fast suites, behaviour. `npm run test:all`
 * adds the slow suites, and `npm run test:all -- --slow` runs only those. `npm test -- WORD ...` runs only the test files
 * with a word in their path, whichever suite they belong to; `npm run golden` writes the golden files anew. `--retry` runs
 * failed files once more, one at a time, and names those that pass then: for machines that others load too.
 */

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { createFailureReasons, diskWarning } from './failure-reasons.mjs';
import { writeGroups } from './groups.mjs';
import { environment, installPackages, nodeProgram, root, run, say } from './install.mjs';
import { memoryFolder } from './memory-folder.mjs';
import { placeOfFailure, retriedFiles } from './retries.mjs';
import { chosenFiles, suiteOf, suites, testFiles, usesBothEngines } from './suites.mjs';

/** What `--golden` writes. */
const GOLDEN = ['test/golden/', 'test/config/schema.test.ts'];
/** The runner's counts, kept for the very end. */
const COUNT = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /;
/** A skipped test in the runner's report, with its reason. */
const SKIPPED = /^\s*﹣ (.+)$/;

const FLAGS = ['--golden', '--all', '--slow', '--retry'];
const flags = new Set(process.argv.slice(2).filter((argument) => FLAGS.includes(argument)));
const words = process.argv.slice(2).filter((argument) => !flags.has(argument));
/** Files that failed, and passed when they were run again. */
const unsteady = [];
const reasons = createFailureReasons();
const golden = flags.has('--golden');
const retries = flags.delete('--retry');
const results = [];

try {
  process.exitCode = await main();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

async function main() {
  const runs = batches();
  await step('install', install);
  const node = await nodeProgram();
  if (words.length === 0 && !golden && !flags.has('--slow')) {
    await step('types', () => run(node, [bin('typescript', 'tsc')]));
    await step('lint and format', () => run(node, [bin('@biomejs/biome', 'biome'), 'check', '.']));
  }
  const counts = [];
  const skipped = new Set();
  for (const { name, ...selection } of runs) await step(name, () => runTests(node, { ...selection, counts, skipped }));
  summarise(counts);
  if (words.length === 0 && flags.size === 0) showSlowSuites();
  showSkipped(skipped);
  return results.some(({ code }) => code !== 0) ? 1 : 0;
}

async function install() {
  await installPackages(root, 'all', 'all packages');
  const clients = join(root, 'test', 'clients');
  if (existsSync(join(clients, 'package.json'))) await installPackages(clients, 'all', 'the clients that tests use');
  return 0;
}

async function step(name, work) {
  const start = performance.now();
  const code = await work();
  results.push({ name, code, seconds: (performance.now() - start) / 1000 });
}

/**
 * What runs, in turn: test files, and the engines of the store that they run on. The fast suites keep their files in memory:
 * a disk only makes them wait, and the slow suites show what is left on it after a crash.
 */
function batches() {
  const both = 'sqlite,postgres';
  const chosen = golden ? GOLDEN : words;
  if (chosen.length > 0) {
    return [{ name: 'tests', files: chosenFiles(testFiles(), chosen), engines: both }];
  }
  const fast = testFiles().filter((path) => !suiteOf(path).slow);
  const slow = testFiles().filter((path) => suiteOf(path).slow);
  const added = [
    { name: 'slow tests', files: slow, engines: both },
    { name: 'on PostgreSQL', files: fast.filter(usesBothEngines), engines: 'postgres' },
  ];
  return [
    ...(flags.has('--slow') ? [] : [{ name: 'tests', files: fast, engines: 'sqlite', inMemory: true }]),
    ...(flags.size > 0 ? added : []),
  ];
}

/** Runs tests, and with `--retry` the failed files once more. */
async function runTests(node, selection) {
  const failed = new Set();
  const code = await reportTests(node, { ...selection, failed });
  const files = retries && code !== 0 ? retriedFiles(failed, selection.files) : [];
  if (files.length === 0) return code;
  say(`Running ${files.join(', ')} again ...`);
  failed.clear();
  const again = await reportTests(node, { ...selection, files, failed, concurrency: 1 });
  if (again === 0) unsteady.push(...files);
  return again;
}

/** Passes the report on as it comes, but for the counts. */
async function reportTests(node, { files, engines, inMemory, counts, skipped, failed, concurrency }) {
  let rest = '';
  const onOutput = (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const text = stripVTControlCharacters(line);
      const [, test] = SKIPPED.exec(text) ?? [];
      if (test !== undefined) skipped.add(test);
      reasons.read(text);
      const place = placeOfFailure(text);
      if (place !== undefined) failed.add(groups.fileOf(place));
      if (COUNT.test(text)) counts.push(line);
      else process.stdout.write(`${line}\n`);
    }
  };
  const options = [
    '--import=./test/seed.ts',
    '--test',
    '--test-reporter=spec',
    // Ends what hangs; a group of files counts as one test.
    '--test-timeout=300000',
    // One more than there are cores: some always wait for something.
    `--test-concurrency=${concurrency ?? availableParallelism() + 2}`,
  ];
  const groups = writeGroups(files);
  const memory = inMemory && memoryFolder();
  return run(node, [...options, ...groups.programs], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...environment,
      TEST_ENGINES: engines,
      ...(memory && { TMPDIR: memory.path }),
      ...(golden && { GOLDEN: 'update' }),
      ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
    },
    onOutput,
  }).finally(() => {
    groups.remove();
    if (memory) memory.remove();
  });
}

function summarise(counts) {
  const lines = results.map(
    ({ name, code, seconds }) =>
      `${code === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(16)} ${seconds.toFixed(1).padStart(6)} s`,
  );
  process.stdout.write(`\n${lines.join('\n')}\n\n${counts.join('\n')}\n`);
  if (unsteady.length > 0)
    process.stdout.write(
      `\nUNSTEADY, failed and passed when run again:\n${unsteady.map((file) => `  ${file}`).join('\n')}\n`,
    );
  if (results.some(({ code }) => code !== 0)) {
    const why = [...reasons.lines(), ...[diskWarning() ?? []].flat()];
    process.stdout.write(`\nWHY:\n${why.join('\n')}\n`);
  }
}

/** The last lines of the output: a skipped test shows nothing on this machine. */
function showSkipped(skipped) {
  if (skipped.size === 0) return;
  const lines = [...skipped].map((test) => `  ${test}`);
  process.stdout.write(`\nSKIPPED, not tested on this machine: ${skipped.size}\n${lines.join('\n')}\n`);
}

function showSlowSuites() {
  const slow = suites.filter((suite) => suite.slow);
  const width = Math.max(...slow.map(({ path }) => path.length));
  const lines = slow.map(({ path, purpose }) => `  ${path.padEnd(width)}  ${purpose}`);
  process.stdout.write(
    `\nNot run; npm run test:all adds PostgreSQL to all that uses a store, and:\n${lines.join('\n')}\n`,
  );
}

function bin(name, program) {
  return join(root, 'node_modules', ...name.split('/'), 'bin', program);
}
