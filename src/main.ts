#!/usr/bin/env node
/** Entry point of `polygate` in a clone, and behind `scripts/entry.cjs` in the package: checks the Node version before the other modules are loaded. */

import { executionAsyncResource } from 'node:async_hooks';
import { readFileSync } from 'node:fs';

/** Objects that live for their hidden classes. */
const held: { tickObject?: object } = {};

keepTickObject();

/** Required Node version from package.json, e.g. `>=24.15`. */
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Node's exit code for a top-level `await` that can never settle. */
const UNSETTLED_EXIT_CODE = 13;

process.on('exit', (code) => {
  if (code !== UNSETTLED_EXIT_CODE) return;
  process.stderr.write('Polygate ended before its work was done, which is a defect: please report the command.\n');
  process.exitCode = 1;
});

if (isNewEnough(process.versions.node, engines.node)) {
  const { delayCompilers } = await import('./cli/v8.ts');
  delayCompilers();
  const { runCommandLine } = await import('./cli/program.ts');
  await runCommandLine(process.argv);
} else {
  process.stderr.write(`Polygate needs Node ${engines.node}, and this is ${process.versions.node}.\n`);
  process.exitCode = 1;
}

/** Compares numbers by hand: a collator would take 10 ms to load. */
function isNewEnough(version: string, needed: string): boolean {
  const numbers = version.split('.').map(Number);
  const bounds = needed.replace('>=', '').split('.').map(Number);
  const decisive = bounds.findIndex((bound, index) => numbers[index] !== bound);
  return decisive < 0 || (numbers[decisive] ?? 0) > (bounds[decisive] ?? 0);
}

/**
 * The object of Node's `nextTick` has computed names. Where its hidden class changes, V8 makes it slowly for good: 4 us more for
 * a request. It changes if no such object lives while V8 collects, as it does first while the modules are loaded.
 */
function keepTickObject(): void {
  process.nextTick(() => {
    held.tickObject = executionAsyncResource();
  });
}
