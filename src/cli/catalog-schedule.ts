/** Scheduled `polygate catalog update`, as a process of its own: a source may be large, and is read as a whole. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { updatedCatalogPath } from '../catalog/updated.ts';
import type { Config } from '../config/resolved.ts';
import { type Clock, startTimeout, systemClock } from '../core/clock.ts';

export interface CatalogScheduleOptions {
  /** The program and its arguments up to the command. */
  program: readonly [string, ...string[]];
  /** Options of the command that name the configuration. */
  options: readonly string[];
  /** The current configuration. */
  config(): Pick<Config, 'catalog' | 'data'>;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Called when newer facts are available. */
  onUpdated(): void;
  /** Random number from 0 to 1: gateways that start together do not ask together. */
  random?: () => number;
}

const FIRST_LOOK_MS = 5_000;
const LOOK_INTERVAL_MS = 60_000;
/** Delay after a failure. */
const RETRY_MS = 3_600_000;
/** Longer than the command waits for the source. */
const COMMAND_TIMEOUT_MS = 180_000;
const MAX_JITTER_MS = 600_000;
const MAX_LINES = 50;

/** Returns how to end it; a command that runs is ended too. */
export function startCatalogSchedule(options: CatalogScheduleOptions): () => void {
  const { config, clock, log, random = Math.random } = options;
  const stopping = new AbortController();
  /** Monotonic milliseconds. */
  let notBefore = Number.NEGATIVE_INFINITY;

  const schedule = (delayMs: number) => clock.after(delayMs, () => void look(), { background: true });
  let cancel = schedule(FIRST_LOOK_MS);

  async function look(): Promise<void> {
    const { catalog, data } = config();
    const moment = clock.monotonic();
    const before = writtenAt(data);
    // A file from so far ahead is of a clock that was set back since.
    const age = Math.abs(clock.now() - (before ?? 0));
    const isDue = catalog.updateMs !== undefined && moment >= notBefore && age >= catalog.updateMs;
    if (isDue) {
      const isDone = await update(options, stopping.signal);
      notBefore = moment + (isDone ? (catalog.updateMs ?? 0) : RETRY_MS) + random() * MAX_JITTER_MS;
      if (isDone && writtenAt(data) !== before) {
        log.info({ source: catalog.source }, 'the facts about models were updated');
        options.onUpdated();
      }
    }
    if (!stopping.signal.aborted) cancel = schedule(LOOK_INTERVAL_MS);
  }

  return () => {
    cancel();
    stopping.abort();
  };
}

/** Whether the command ended well. */
async function update({ program, options, log }: CatalogScheduleOptions, stopping: AbortSignal): Promise<boolean> {
  const [command, ...args] = program;
  // Another process has the time of the machine.
  const timeout = startTimeout(systemClock, COMMAND_TIMEOUT_MS);
  const signal = AbortSignal.any([stopping, timeout.signal]);
  const child = spawn(command, [...args, 'catalog', 'update', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  child.unref();
  try {
    const [changes, messages, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (code !== 0) throw new Error(messages.trim());
    report(changes, log);
    return true;
  } catch (error) {
    if (!stopping.aborted) log.warn({ problem: (error as Error).message }, 'the facts about models were not updated');
    return false;
  } finally {
    timeout.cancel();
  }
}

/** Each price and limit that differs, as the command prints it. */
function report(changes: string, log: CatalogScheduleOptions['log']): void {
  const lines = changes.split('\n').filter((line) => line !== '');
  for (const line of lines.slice(0, MAX_LINES)) {
    const [model, fact, before, after, note] = line.split('\t');
    log.info({ model, fact, before, after, ...(note && { note }) }, 'a fact about a model differs');
  }
  if (lines.length > MAX_LINES) log.info({ more: lines.length - MAX_LINES }, 'more facts about models differ');
}

/** Unix milliseconds; undefined where there is none. */
function writtenAt(folder: string): number | undefined {
  return statSync(updatedCatalogPath(folder), { throwIfNoEntry: false })?.mtimeMs;
}
