/** Supervision of workers: starts them, starts again those that end by themselves or do not answer any more, and ends them. */

import cluster, { type Worker } from 'node:cluster';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { problemOf, StoreUnavailable } from '../../store/unavailable.ts';
import { type Channel, type ChannelHandlers, type ChannelMessage, createChannel } from './channel.ts';
import { type HangCheck, startHangCheck } from './hang-check.ts';
import type { WorkerListens, WorkerStart } from './messages.ts';

export interface SupervisorOptions {
  count: number;
  log: Logger;
  /** The facts that a worker gets at its start; called for each start. */
  startOf(number: number): Omit<WorkerStart, 'number' | 'count' | 'port'>;
  /** Calls that workers may make. */
  handlers: ChannelHandlers;
  /** A worker is gone, however it ended; its calls are done. */
  onEnded(instance: string): Promise<void>;
  /** A worker ended by itself. */
  onCrashed(): void;
  clock?: Pick<Clock, 'monotonic' | 'after'>;
}

export interface Supervisor {
  readonly address: WorkerListens['address'];
  /** Process ids in the order of the numbers; of workers that run. */
  pids(): number[];
  /** Calls all workers that listen and answer; a call that fails or takes too long is left out. */
  callAll(name: string, parameters: unknown): Promise<unknown[]>;
  /** Calls all workers, also those that only start. */
  tellAll(name: string, parameters: unknown): void;
  /** Lets all workers finish their requests; kills those that have not ended after the time. */
  stop(graceMs: number, timeoutMs: number): Promise<void>;
}

/** Delay before a restart: doubled by each failure in a row. */
const MIN_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 15_000;
/** Running time after which an end counts as the first failure. */
const STABLE_AFTER_MS = 60_000;
/** Longest wait for the result of a worker. */
const CALL_TIMEOUT_MS = 2_000;

const MAIN_MODULE = fileURLToPath(new URL(`../../main${extname(import.meta.url)}`, import.meta.url));

interface Slot {
  number: number;
  failures: number;
  process?: RunningWorker | undefined;
  /** Cancels a restart that is due. */
  cancelStart?: () => void;
}

interface RunningWorker {
  worker: Worker;
  channel: Channel;
  listens: boolean;
  /** Absent until it listens. */
  hangCheck?: HangCheck;
  /** Resolves when it has ended and is settled. */
  ended: Promise<void>;
}

/** Resolves when all workers listen. Throws `unavailable` with a message for the operator if one cannot. */
export async function superviseWorkers(options: SupervisorOptions): Promise<Supervisor> {
  const { count, log, clock = systemClock } = options;
  const slots = Array.from({ length: count }, (_, index): Slot => ({ number: index + 1, failures: 0 }));
  let address: WorkerListens['address'] | undefined;
  /** Port that workers ask for: they share it if they ask for the same. That of the configuration if absent. */
  let askedPort: number | undefined;
  let state: 'starting' | 'running' | 'stopping' = 'starting';

  // All accept from one queue of the system. Dealt out by the primary, a connection is lost with the worker that it is on
  // its way to.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ exec: MAIN_MODULE, args: process.argv.slice(2), serialization: 'advanced' });

  function start(slot: Slot): Promise<void> {
    const startedAt = clock.monotonic();
    const worker = cluster.fork();
    const about = { worker: slot.number, workerPid: worker.process.pid };
    const details = options.startOf(slot.number);
    const { instance } = details;
    return new Promise((resolve, reject) => {
      const channel = createChannel((message) => post(worker, message), {
        ...options.handlers,
        start(): WorkerStart {
          // A port that the system chose is lost with the last worker that has it.
          if (address && !slots.some(({ process }) => process?.listens)) askedPort = address.port;
          return { ...details, number: slot.number, count, ...(askedPort !== undefined && { port: askedPort }) };
        },
        listens({ address: chosen }: WorkerListens) {
          address ??= chosen;
          running.listens = chosen.port === address.port;
          if (running.listens) running.hangCheck = watch(channel, worker, about);
          else worker.process.kill('SIGKILL');
          resolve();
        },
        failed({ message }: { message: string }) {
          reject(new GatewayError('unavailable', message));
          if (state === 'running') log.error({ ...about, problem: message }, 'a worker cannot start');
        },
      });
      worker.on('message', (message: ChannelMessage) => channel.receive(message));
      worker.on('error', (error) => log.error({ err: error, ...about }, 'a worker cannot be reached'));
      const ended = new Promise<void>((done) => {
        worker.on('exit', (code, signal) => {
          running.hangCheck?.close();
          channel.close(new StoreUnavailable('the worker ended'));
          slot.process = undefined;
          if (state === 'running' || (state === 'starting' && running.listens))
            restart(slot, { ...about, code, signal }, clock.monotonic() - startedAt);
          reject(new GatewayError('unavailable', `Worker ${slot.number} ended while it started (${signal ?? code}).`));
          settle(channel, instance).then(done);
        });
      });
      const running: RunningWorker = { worker, channel, listens: false, ended };
      slot.process = running;
    });
  }

  /** A worker that hangs accepts no connections, but its requests would wait for ever. */
  function watch(channel: Channel, worker: Worker, about: object): HangCheck {
    return startHangCheck({
      ask: () => channel.call('ping', {}),
      onSilent: () => log.error(about, 'a worker does not answer'),
      onAnswer: () => log.info(about, 'the worker answers again'),
      onHung() {
        log.error(about, 'a worker has not answered for a minute; it is ended');
        worker.process.kill('SIGKILL');
      },
      clock,
    });
  }

  async function settle(channel: Channel, instance: string): Promise<void> {
    await channel.handled();
    await options
      .onEnded(instance)
      .catch((error) => log.warn({ problem: problemOf(error) }, 'the requests of a worker are not settled yet'));
  }

  function restart(slot: Slot, details: object, runningMs: number): void {
    slot.failures = runningMs > STABLE_AFTER_MS ? 1 : slot.failures + 1;
    const delay = Math.min(MAX_RESTART_DELAY_MS, MIN_RESTART_DELAY_MS * 2 ** (slot.failures - 1));
    log.error({ ...details, delay }, 'a worker ended; it is started again');
    options.onCrashed();
    slot.cancelStart = clock.after(delay, () => {
      start(slot).then(
        () =>
          log.info({ worker: slot.number, workerPid: slot.process?.worker.process.pid }, 'the worker listens again'),
        () => undefined,
      );
    });
  }

  async function stop(graceMs: number, timeoutMs: number): Promise<void> {
    state = 'stopping';
    for (const slot of slots) slot.cancelStart?.();
    const running = slots.flatMap((slot) => slot.process ?? []);
    for (const { channel } of running) channel.call('stop', { graceMs }).catch(() => undefined);
    const cancelKill = clock.after(timeoutMs, () => {
      for (const { worker } of running) worker.process.kill('SIGKILL');
    });
    await Promise.all(running.map(({ ended }) => ended));
    cancelKill();
  }

  try {
    await Promise.all(slots.map(start));
  } catch (error) {
    await stop(0, 0);
    throw error;
  }
  state = 'running';
  const chosen = address;
  if (!chosen) throw new Error('no worker listens');
  return {
    address: chosen,
    pids: () => slots.flatMap((slot) => slot.process?.worker.process.pid ?? []),
    async callAll(name, parameters) {
      const calls = slots.flatMap(({ process: running }) =>
        running?.listens && !running.hangCheck?.isSilent
          ? [withTimeout(running.channel.call(name, parameters), clock)]
          : [],
      );
      const results = await Promise.allSettled(calls);
      return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    },
    tellAll(name, parameters) {
      for (const { process: running } of slots) running?.channel.call(name, parameters).catch(() => undefined);
    },
    stop,
  };
}

function post(worker: Worker, message: ChannelMessage): void {
  // An error means that the worker is gone, which its exit tells too.
  if (worker.isConnected()) worker.send(message, () => undefined);
}

function withTimeout(result: Promise<unknown>, clock: Pick<Clock, 'after'>): Promise<unknown> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(CALL_TIMEOUT_MS, () => reject(new Error('a worker does not answer')));
  return Promise.race([result, promise]).finally(cancel);
}
