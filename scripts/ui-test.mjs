/**
 * `npm run test:ui`: tests the pages of the dashboard in Chromium, which it installs where apt can. Types of the pages are
 * checked against the API's description, sizes against their budgets; after all tests the budgets of times are measured in
 * short. `npm run test:ui -- WORD` runs the files with it alone, `npm run test:ui -- --budgets ...` measures all budgets instead
 * (`ui/test/budgets.ts`).
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeGroups } from './groups.mjs';
import { environment, installPackages, nodeProgram, root, run, say } from './install.mjs';
import { buildPages, uiFolder } from './pages.mjs';
import { placeOfFailure, retriedFiles } from './retries.mjs';
import { chosenFiles, testFiles } from './suites.mjs';
import { checkSizes } from './ui-sizes.mjs';

/** Debian's: the one without windows takes a third less processor time. Then what other systems have. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome'];
const PACKAGES = ['chromium-headless-shell', 'chromium'];
/** Ends what hangs; a group of files counts as one test. */
const TEST_TIMEOUT_MS = 600_000;
/** Three took as long on two cores, and were less steady. */
const GROUPS_AT_ONCE = 2;
/** They share a process and a browser. More would leave a core without work at the end. */
const FILES_OF_GROUP = 4;
/** They take a third of the time: begun last, they would leave a core without work at the end. */
const LONGEST_FILES = ['states', 'partial', 'journeys'].map((name) => `ui/test/${name}.test.ts`);
/** Its hooks close windows and the browser. */
const HOOKS = 'ui/test/windows.ts';

const [first, ...rest] = process.argv.slice(2);
const isOfBudgets = first === '--budgets';
const retries = process.argv.includes('--retry');
const words = isOfBudgets ? [] : process.argv.slice(2).filter((argument) => argument !== '--retry');

try {
  const files = chosenFiles(testFiles('ui/test'), words);
  await installPackages(root, 'all', 'all packages');
  await installPackages(uiFolder, 'all', 'what the dashboard is built and tested with');
  const node = await nodeProgram();
  await provideChromium();
  await step(node, join(root, 'scripts', 'ui-types.mjs'));
  await step(node, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'ui');
  await step(node, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'ui/test');
  await buildPages();
  const budgets = join(uiFolder, 'test', 'budgets.ts');
  if (isOfBudgets) process.exit(await run(node, [budgets, ...rest]));
  checkSizes(join(root, 'dist', 'ui'));
  await testPages(node, files, retries);
  // Now nothing else runs.
  if (words.length === 0) await step(node, budgets, 'quick');
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

/** Tests find the browser by the variable. */
async function provideChromium() {
  const found = () => process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
  if (found() === undefined) {
    say('Installing Chromium with apt (once) ...');
    // The lists of a new machine may be old, or absent.
    await apt('update');
    for (const name of PACKAGES) {
      if (found() === undefined) await apt('install', '--yes', '--no-install-recommends', name);
    }
  }
  const path = found();
  if (path === undefined) throw new Error('Chromium is needed: install the package chromium, or name one in CHROMIUM.');
  environment.CHROMIUM = path;
}

async function apt(...args) {
  const command = ['apt-get', '--quiet', ...args];
  const [program, ...rest] = process.getuid?.() === 0 ? command : ['sudo', '--non-interactive', ...command];
  const env = { ...environment, DEBIAN_FRONTEND: 'noninteractive' };
  await run(program, rest, { stdio: ['ignore', 2, 2], env }).catch(() => 1);
}

async function testPages(node, files, retries) {
  const places = new Set();
  if ((await runTests(node, files, GROUPS_AT_ONCE, places)) === 0) return;
  const again = retries ? retriedFiles(places, files) : [];
  if (again.length === 0) throw new Error('The tests of the pages failed.');
  say(`Running ${again.join(', ')} again ...`);
  if ((await runTests(node, again, 1, new Set())) !== 0) throw new Error('The tests of the pages failed twice.');
  say(`UNSTEADY, failed and passed when run again: ${again.join(', ')}`);
}

function runTests(node, files, concurrency, places) {
  let rest = '';
  const onOutput = (chunk) => {
    process.stdout.write(chunk);
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const place = placeOfFailure(line);
      if (place !== undefined) places.add(place);
    }
  };
  const first = LONGEST_FILES.filter((file) => files.includes(file));
  const groups = writeGroups([...new Set([...first, ...files])], {
    isAlone: () => false,
    filesOfGroup: FILES_OF_GROUP,
    preload: HOOKS,
  });
  const options = ['--test', '--test-reporter=spec', `--test-concurrency=${concurrency}`];
  return run(node, [...options, `--test-timeout=${TEST_TIMEOUT_MS}`, ...groups.programs], {
    stdio: ['ignore', 'pipe', 'inherit'],
    onOutput,
  }).finally(groups.remove);
}

async function step(node, ...args) {
  const code = await run(node, args);
  if (code !== 0) throw new Error(`${args[0]} ended with exit code ${code}.`);
}
