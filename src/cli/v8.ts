/**
 * Compilers and memory of V8: flags that can be set while a gateway runs, and collections at times without load. Other flags, such as
 * `--max-semi-space-size`, only work on the command line of Node.
 */

import { PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { type Clock, every, systemClock } from '../core/clock.ts';
import { allowCollections, collectMemory } from '../core/collection.ts';
import type { Store } from '../store/store.ts';

/** Size from which the young generation does not grow: collections cost hardly more than with a larger one. */
const MAX_YOUNG_GENERATION_BYTES = 32 * 2 ** 20;
/** Factor by which V8 lets a young generation grow by default. */
const GROWTH_FACTOR = 2;
const NO_GROWTH_FACTOR = 1;
/** Interval of the looks at a young generation that may not grow. */
const LOOK_INTERVAL_MS = 1000;
const COLLECTIONS = { entryTypes: ['gc'] as const };

/** A gateway idles that did not use more than this share of its main thread between two looks. */
const MAX_IDLE_SHARE = 0.01;
const IDLE_LOOK_INTERVAL_MS = 60_000;
/** Looks in a row at a gateway that idles, after which its memory is given back. */
const MIN_IDLE_LOOKS = 5;

const COMPILERS = ['sparkplug', 'maglev', 'turbofan'] as const;
/** A start that lasts longer, such as one that recovers many records, gets its code compiled. */
const MAX_START_MS = 1000;
/** Options of Node by which its user decides about compilers. */
const COMPILER_OPTIONS = /jitless|lite[-_]mode|sparkplug|maglev|turbofan|max[-_]opt|no[-_]?opt/;

type MemoryHolder = Pick<Store, 'releaseMemory'>;

/** Defined while the compilers wait. */
let cancelDelay: (() => void) | undefined;

/**
 * Keeps the compilers off until `startCompilers`, but at most one second. The code of a start runs once; to compile parts of it
 * takes 8 % of its processor time and loads 6 MB of V8 into memory. Does nothing where the options of Node name compilers: to
 * turn one on after `--jitless` ends the process.
 */
export function delayCompilers(): void {
  if (COMPILER_OPTIONS.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))) return;
  for (const name of COMPILERS) setFlagsFromString(`--no-${name}`);
  cancelDelay = systemClock.after(MAX_START_MS, startCompilers, { background: true });
}

/** Ends the delay. */
export function startCompilers(): void {
  if (!cancelDelay) return;
  cancelDelay();
  cancelDelay = undefined;
  for (const name of COMPILERS) setFlagsFromString(`--${name}`);
}

/**
 * Lets optimized functions contain about twice as much of the functions that they call. A request passes through some hundred
 * small ones; takes 1 to 4 % of its processor time away.
 */
export function inlineMore(): void {
  setFlagsFromString('--max-inlined-bytecode-size=1000');
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=2000');
}

/**
 * Bounds the young generation. By default it grows to 134 MB under load, although most objects of a request die at once. While it
 * may grow, each collection is followed by a look at its size. At the bound, where that would cost each request almost a
 * microsecond, a look each second shows whether V8 has shrunk it, as it does in an idle process. Returns a function that ends that.
 */
export function boundYoungGeneration(maxBytes = MAX_YOUNG_GENERATION_BYTES): () => void {
  const observer = new PerformanceObserver(look);
  let mayGrow = true;
  observer.observe(COLLECTIONS);
  const stopLooking = every(systemClock, LOOK_INTERVAL_MS, look, { background: true });

  function look(): void {
    const isSmall = youngGenerationBytes() < maxBytes;
    if (isSmall === mayGrow) return;
    mayGrow = isSmall;
    setGrowthFactor(mayGrow ? GROWTH_FACTOR : NO_GROWTH_FACTOR);
    if (mayGrow) observer.observe(COLLECTIONS);
    else observer.disconnect();
  }

  return () => {
    stopLooking();
    observer.disconnect();
    setGrowthFactor(GROWTH_FACTOR);
  };
}

function setGrowthFactor(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/**
 * Collects the young generation without helping threads, in all threads. Few objects survive, so waking the helpers takes more
 * processor time than they save: about 2 % of a request's. Where many survive and many cores idle, a pause is longer.
 */
export function collectWithoutHelpers(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

/**
 * Keeps optimized code over pauses. By default V8 collects in an idle process so that it gives up hidden classes without objects,
 * and with them all code that was optimized for these: thousands of requests after a pause would cost twice. An idle process
 * still collects, as one under load does.
 */
export function keepHotCode(): void {
  setFlagsFromString('--no-memory-reducer-favors-memory');
}

/**
 * Begins a full collection when four fifths of the allowed growth of the heap are used, or at once from 95 % on. By default V8 begins when as
 * much is left as the young generation has, less the size of buffers outside of the heap: in a small heap, after 8 MB of request
 * bodies, although these die young. V8 limits the growth of buffers separately as well.
 */
export function collectFullyLater(): void {
  setFlagsFromString('--incremental-marking-soft-trigger=80');
  setFlagsFromString('--incremental-marking-hard-trigger=95');
}

/**
 * Lets threads that start from now on call V8's built-in functions where they lie in Node's program. By default each has them a second time beside
 * its compiled code, for shorter calls: 2 MB of memory a thread.
 */
export function shareBuiltins(): void {
  setFlagsFromString('--no-short-builtin-calls');
}

/** Size of the young generation of the heap; 0 if V8 does not report it. */
export function youngGenerationBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

/**
 * Gives back the memory of a start: code and data of modules that ran once, and a young generation that grew while they were
 * loaded. V8 would keep it, since a gateway that idles collects nothing. One full collection of about 50 ms, before requests come, in
 * this thread and beside it in those of the store; gives 16 MB back.
 */
export function releaseStartMemory(store: MemoryHolder): void {
  releaseMemory(store);
}

/**
 * Gives back the memory of a load after five minutes without one, once: free pages of the heap, which V8 keeps, and code that
 * was compiled for requests. The next ones are as after a start. `busyShare` is the share of the main thread that was used since it was asked
 * the last time. Returns a function that ends that.
 */
export function releaseIdleMemory(
  store: MemoryHolder,
  { clock = systemClock, busyShare = createBusyShare() }: { clock?: Clock; busyShare?: () => number } = {},
): () => void {
  let wasBusy = false;
  let idleLooks = 0;
  return every(clock, IDLE_LOOK_INTERVAL_MS, look, { background: true });

  function look(): void {
    const isBusy = busyShare() > MAX_IDLE_SHARE;
    wasBusy ||= isBusy;
    idleLooks = isBusy ? 0 : idleLooks + 1;
    if (!wasBusy || idleLooks < MIN_IDLE_LOOKS) return;
    wasBusy = false;
    releaseMemory(store);
  }
}

function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

function releaseMemory(store: MemoryHolder): void {
  const end = allowCollections();
  const released = store.releaseMemory?.();
  collectMemory();
  if (released) void released.finally(end);
  else end();
}
