/** Flags of V8: the young generation stays within its bound and is collected without helpers; compilers wait for the end of a start, and inline more. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { releaseIdleMemory } from '../../src/cli/v8.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const MODULE = join(import.meta.dirname, '../../src/cli/v8.ts');
const MB = 2 ** 20;

/** Makes garbage of which a part survives some collections, in a process of its own: flags of V8 are for all of it. */
function sizesUnderLoad(before: string): { size: number; afterwards: number } {
  const script = `
    import { boundYoungGeneration, youngGenerationBytes } from ${JSON.stringify(MODULE)};
    async function load(turns) {
      const kept = [];
      for (let turn = 0; turn < turns; turn++) {
        for (let index = 0; index < 40_000; index++) kept[index % 30_000] = { index, pair: [index, turn] };
        await new Promise(setImmediate);
      }
      return youngGenerationBytes();
    }
    ${before}
    const size = await load(150);
    end?.();
    console.log(JSON.stringify({ size, afterwards: await load(150) }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout);
}

/** V8 leaves it at 32 MB in one of ten processes. */
const ATTEMPTS = 6;

test('the young generation grows to its bound and not further', () => {
  const attempts = Array.from({ length: ATTEMPTS });
  const unbounded = attempts.some(() => sizesUnderLoad('const end = undefined;').size > 64 * MB);
  assert.ok(unbounded, 'without the bound it grows further');
  const growsAgain = attempts.some(() => {
    const { size, afterwards } = sizesUnderLoad(`const end = boundYoungGeneration(${16 * MB});`);
    assert.ok(size >= 16 * MB && size <= 32 * MB, `${size / MB} MB`);
    return afterwards > 64 * MB;
  });
  assert.ok(growsAgain, 'it grows again once the bound is off');
});

test('a young generation that V8 has shrunk grows again', () => {
  const script = `
    import { boundYoungGeneration, youngGenerationBytes } from ${JSON.stringify(MODULE)};
    import { setTimeout } from 'node:timers/promises';
    const kept = [];
    async function load() {
      for (let turn = 0; turn < 150; turn++) {
        for (let index = 0; index < 40_000; index++) kept[index % 30_000] = { index, pair: [index, turn] };
        await new Promise(setImmediate);
      }
      return youngGenerationBytes();
    }
    boundYoungGeneration(${16 * MB});
    const sizes = [await load()];
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    sizes.push(youngGenerationBytes());
    await setTimeout(1100);
    console.log(JSON.stringify([...sizes, await load()]));`;
  const args = ['--expose-gc', '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  const [grown = 0, shrunk = 0, again = 0] = JSON.parse(stdout);
  assert.ok(grown >= 16 * MB && grown <= 32 * MB, `${grown / MB} MB`);
  assert.ok(shrunk < 8 * MB, `${shrunk / MB} MB`);
  assert.ok(again >= 16 * MB && again <= 32 * MB, `${again / MB} MB`);
});

/** Processor time of all threads but the main one while survivors are collected, in microseconds. */
function helpersTime(before: string): number {
  const script = `
    import { collectWithoutHelpers } from ${JSON.stringify(MODULE)};
    ${before}
    const kept = [];
    for (let index = 0; index < 20_000_000; index++) kept[index % 50_000] = { index, pair: [index] };
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
    console.log(all.user + all.system - own.user - own.system);`;
  const args = ['--input-type=module', '--no-concurrent-marking', '--no-concurrent-recompilation', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  return Number(stdout);
}

test('the young generation is collected without helping threads', () => {
  const [helped, alone] = [helpersTime(''), helpersTime('collectWithoutHelpers();')];
  assert.ok(alone < helped / 3, `${alone} us of ${helped} us`);
});

/** Full collections while bodies of 100 kB come and go, beside objects of which some survive. */
function fullCollections(before: string): number {
  const script = `
    import { constants, PerformanceObserver } from 'node:perf_hooks';
    import { boundYoungGeneration, collectFullyLater } from ${JSON.stringify(MODULE)};
    boundYoungGeneration();
    ${before}
    const old = Array.from({ length: 200_000 }, (_, index) => ({ index }));
    let count = 0;
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const observer = new PerformanceObserver((list) => {
      for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) count++;
    });
    observer.observe({ entryTypes: ['gc'] });
    for (let turn = 0; turn < 3000; turn++) {
      const bodies = Array.from({ length: 2 }, () => Buffer.allocUnsafeSlow(100_000));
      const objects = Array.from({ length: 100 }, (_, index) => ({ index, bodies }));
      old[turn % old.length] = { index: objects.length };
      await new Promise(setImmediate);
    }
    console.log(count);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.notEqual(stdout, '', stderr);
  return Number(stdout);
}

test('a full collection begins later than V8 would begin it', () => {
  const [early, late] = [fullCollections(''), fullCollections('collectFullyLater();')];
  assert.ok(late < 0.6 * early, `${late} instead of ${early}`);
});

/** No compilation beside the program, which a busy machine could delay until the program has ended. */
const COMPILED_AT_ONCE = ['--no-concurrent-recompilation'];
/** Of V8's `OptimizationStatus`: by any compiler that optimizes, and by Maglev. */
const OPTIMIZED_BITS = (1 << 4) | (1 << 5);

/** Whether a function that is called often is optimized: before a start, during it, and after what ends it. */
function optimizedAround(end: string, { module = MODULE, options = [] as readonly string[] } = {}): boolean[] {
  const script = `
    import { delayCompilers, startCompilers } from ${JSON.stringify(module)};
    import { setTimeout } from 'node:timers/promises';
    /** Makes a new function each time. */
    const isOptimized = () => new Function(\`
      function sum(list) { let sum = 0; for (const value of list) sum += value; return sum; }
      for (let index = 0; index < 100_000; index++) sum([1, 2, 3, 4, 5, 6, 7, 8]);
      return (%GetOptimizationStatus(sum) & ${OPTIMIZED_BITS}) !== 0;\`)();
    const before = isOptimized();
    delayCompilers();
    const during = isOptimized();
    ${end}
    console.log(JSON.stringify([before, during, isOptimized()]));`;
  const args = [...options, ...COMPILED_AT_ONCE, '--allow-natives-syntax', '--input-type=module', '-e', script];
  const { stdout, stderr, signal } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.notEqual(stdout, '', `${signal} ${stderr}`);
  return JSON.parse(stdout);
}

test('compilers stay as the options of Node have them', async (context) => {
  // Node needs a compiler to read TypeScript.
  const folder = mkdtempSync(join(tmpdir(), 'polygate-v8-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const module = join(folder, 'v8.mjs');
  await build({ entryPoints: [MODULE], outfile: module, bundle: true, format: 'esm', platform: 'node' });
  for (const options of [['--jitless'], ['--lite-mode'], ['--no-opt', '--no-maglev'], ['--max-opt=0']]) {
    assert.deepEqual(optimizedAround('startCompilers();', { module, options }), [false, false, false], options[0]);
  }
});

test('nothing is compiled for speed during a start', () => {
  assert.deepEqual(optimizedAround('startCompilers();'), [true, false, true]);
});

test('a start that lasts long gets its code compiled', () => {
  assert.deepEqual(optimizedAround('await setTimeout(1100);'), [true, false, true]);
});

/** What Node reports of a function of 60 operations that is called in a loop. */
function inlined(before: string): boolean {
  const script = `
    import { inlineMore } from ${JSON.stringify(MODULE)};
    ${before}
    const lines = Array.from({ length: 60 }, (_, index) => 'x = (x * ' + (index + 3) + ' + y) | 0;').join('');
    const called = new Function('x', 'y', lines + 'return x;');
    function caller() { let sum = 0; for (let index = 0; index < 1000; index++) sum = (sum + called(index, sum)) | 0; return sum; }
    for (let round = 0; round < 200; round++) caller();`;
  const args = [...COMPILED_AT_ONCE, '--trace-turbo-inlining', '--input-type=module', '-e', script];
  const { stdout, status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return /^Inlining .* into .*caller>/m.test(stdout);
}

test('larger functions become part of those that call them', () => {
  assert.equal(inlined(''), false);
  assert.equal(inlined('inlineMore();'), true);
});

test('memory is released once after five minutes without load', async () => {
  const clock = createManualClock(Date.now());
  let share = 0;
  let released = 0;
  const releaseMemory = async () => void released++;
  const end = releaseIdleMemory({ releaseMemory }, { clock, busyShare: () => share });
  const pass = (minutes: number, used: number) => {
    share = used;
    clock.advance(minutes * 60_000);
    return released;
  };
  assert.equal(pass(10, 0.003), 0, 'a start releases its own');
  assert.equal(pass(10, 0.4), 0);
  assert.equal(pass(4, 0.003), 0);
  assert.equal(pass(1, 0.02), 0);
  assert.equal(pass(4, 0.003), 0);
  assert.equal(pass(1, 0.003), 1);
  assert.equal(pass(60, 0.003), 1);
  assert.equal(pass(1, 0.02), 1);
  assert.equal(pass(5, 0.003), 2);
  end();
  pass(1, 0.02);
  assert.equal(pass(10, 0.003), 2);
});
