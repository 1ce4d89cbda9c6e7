/** Connection of a worker to its primary. */

import cluster from 'node:cluster';
import type { AskedCapture } from '../../http/captures.ts';
import type { CreateSharedRate } from '../../http/rate.ts';
import type { OpenCircuit } from '../../routing/circuit-breaker.ts';
import type { IntentFilter } from '../../store/operations/requests.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import type { RunningGateway } from '../gateway.ts';
import type { WorkerProcess } from '../process.ts';
import { type ChannelMessage, createChannel } from './channel.ts';
import { createChannelStore } from './channel-store.ts';
import type { RateCall, WorkerStart } from './messages.ts';

export interface WorkerHandlers {
  /** The configuration has changed. */
  onReload(text: string): void;
  /** Another worker has opened a circuit. */
  onCooldown(circuit: OpenCircuit): void;
  /** The gateway is about to stop. */
  onDrain(): void;
  /** The worker ends when its requests are done. */
  onStop(graceMs: number): void;
  /** Metrics of this process. */
  metricsText(): Promise<string>;
  /** Stores the pending usage records of this process. */
  flushed(): Promise<void>;
  findCapture(asked: AskedCapture): Promise<string | undefined>;
  /** Number of requests that run in this process. */
  countRunning(filter: IntentFilter): Promise<number>;
}

export interface PrimaryConnection {
  start: WorkerStart;
  /** The embedded store of the primary. */
  store: Store;
  /** Place of this process in its gateway. */
  process: WorkerProcess;
  listens(address: RunningGateway['address']): Promise<unknown>;
  /** Reports why this worker cannot start, for the operator. */
  failed(message: string): Promise<unknown>;
}

export function isWorkerProcess(): boolean {
  return cluster.isWorker;
}

/** Connects a worker to its primary. The worker exits at once when the connection ends. */
export async function connectToPrimary(handlers: WorkerHandlers): Promise<PrimaryConnection> {
  const channel = createChannel(post, {
    reload: ({ text }: { text: string }) => handlers.onReload(text),
    cooldown: (circuit: OpenCircuit) => handlers.onCooldown(circuit),
    drain: () => handlers.onDrain(),
    stop: ({ graceMs }: { graceMs: number }) => handlers.onStop(graceMs),
    metrics: async () => ({ instance: start.instance, text: await handlers.metricsText() }),
    flush: () => handlers.flushed(),
    capture: (asked: AskedCapture) => handlers.findCapture(asked),
    running: (filter: IntentFilter) => handlers.countRunning(filter),
    ping: () => undefined,
  });
  process.on('message', (message: ChannelMessage) => channel.receive(message));
  process.on('disconnect', () => {
    channel.close(new StoreUnavailable('the primary ended'));
    process.exit(1);
  });
  const start = (await channel.call('start', {})) as WorkerStart;
  const createRate: CreateSharedRate = (name, { rate, burst }) => {
    const shared = { name, perSecond: rate, burst };
    return (caller) => channel.call('rate', { rate: shared, caller } satisfies RateCall) as Promise<number>;
  };
  return {
    start,
    store: createChannelStore(channel),
    process: {
      role: 'worker',
      instance: start.instance,
      count: start.count,
      createRate,
      shareCooldown: (circuit) => void channel.call('cooldown', circuit).catch(() => undefined),
      wake: (kind) => void channel.call('wake', { kind }).catch(() => undefined),
      metricsText: () => channel.call('metrics', {}) as Promise<string>,
      flushOthers: async () => void (await channel.call('flush', {})),
      findCapture: (asked) => channel.call('capture', asked) as Promise<string | undefined>,
      countRunning: (filter) => channel.call('running', filter) as Promise<number>,
    },
    listens: (address) => channel.call('listens', { address }),
    failed: (message) => channel.call('failed', { message }),
  };
}

function post(message: ChannelMessage): void {
  process.send?.(message);
}
