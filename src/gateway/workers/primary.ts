/** Workers of a primary: the calls that they may make, and the sums over all of them. */

import type { Logger } from 'pino';
import { monotonicNow } from '../../core/clock.ts';
import type { AskedCapture } from '../../http/captures.ts';
import { createRate, type Rate } from '../../http/rate.ts';
import type { OpenCircuit } from '../../routing/circuit-breaker.ts';
import type { IntentFilter } from '../../store/operations/requests.ts';
import type { Store, StoreOperationName } from '../../store/store.ts';
import { addMetrics, type MetricsSum, metricsText } from '../../telemetry/metrics-sum.ts';
import type { RunningGateway } from '../gateway.ts';
import type { RateCall, StoreCall } from './messages.ts';
import { superviseWorkers } from './supervisor.ts';

export interface PrimaryOptions {
  gateway: RunningGateway;
  store: Store;
  log: Logger;
  count: number;
  /** Instance id of the primary in the store. */
  instance: string;
  /** Text of the configuration file. */
  text: string;
}

export interface Workers {
  pids(): number[];
  /** Gives a changed configuration to all workers. */
  reload(text: string): void;
  /** A capture of a worker, as JSON text. */
  findCapture(asked: AskedCapture): Promise<string | undefined>;
  /** Number of requests that run in all workers. */
  countRunning(filter: IntentFilter): Promise<number>;
  /** The gateway is about to stop: no worker is ready from now on. */
  drain(): void;
  /** Stores the pending usage records of all workers. */
  flushed(): Promise<void>;
  /** Lets all workers finish their requests; kills those that have not ended after the time. */
  stop(graceMs: number, timeoutMs: number): Promise<void>;
}

interface ProcessMetrics {
  instance: string;
  text: string;
}

/** Resolves when all workers listen. Throws `unavailable` with a message for the operator if one cannot. */
export async function startWorkers(options: PrimaryOptions): Promise<Workers> {
  const { gateway, store, log, count, instance, text } = options;
  const rates = new Map<string, Rate>();
  /** Totals of workers that ended, so that sums never go down. */
  const endedTotals: MetricsSum = new Map();
  /** Latest metrics text of each running worker, by instance. */
  const lastMetrics = new Map<string, string>();
  let reloaded: string | undefined;
  let starts = 0;
  let restarts = 0;

  function countCall({ rate: { name, perSecond, burst }, caller }: RateCall): number {
    let rate = rates.get(name);
    if (!rate) {
      rate = createRate({ rate: perSecond, burst, now: monotonicNow });
      rates.set(name, rate);
    }
    return rate(caller);
  }

  async function flush(): Promise<void> {
    await (await starting).callAll('flush', {});
  }

  async function findCapture(asked: AskedCapture): Promise<string | undefined> {
    const found = (await (await starting).callAll('capture', asked)) as (string | undefined)[];
    return found.find((text) => text !== undefined);
  }

  async function countRunning(filter: IntentFilter): Promise<number> {
    const counts = (await (await starting).callAll('running', filter)) as number[];
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async function sumMetrics(): Promise<string> {
    const supervisor = await starting;
    const [own, ...others] = await Promise.all([gateway.metricsText(), ...(await supervisor.callAll('metrics', {}))]);
    for (const { instance: worker, text } of others as ProcessMetrics[])
      if (lastMetrics.has(worker)) lastMetrics.set(worker, text);
    const sum: MetricsSum = structuredClone(endedTotals);
    addMetrics(sum, own as string);
    for (const last of lastMetrics.values()) addMetrics(sum, last);
    addMetrics(sum, workerMetrics(supervisor.pids().length, restarts));
    return metricsText(sum);
  }

  const starting = superviseWorkers({
    count,
    log,
    startOf(number) {
      starts += 1;
      const worker = `${instance}/${number}.${starts}`;
      lastMetrics.set(worker, '');
      return { instance: worker, text, ...(reloaded !== undefined && { reloaded }) };
    },
    handlers: {
      store: ({ name, parameters }: StoreCall) => store.call(name as StoreOperationName, parameters as never),
      rate: countCall,
      wake: ({ kind }: { kind: string }) => gateway.wake(kind),
      cooldown: async (circuit: OpenCircuit) => (await starting).tellAll('cooldown', circuit),
      metrics: sumMetrics,
      flush,
      capture: findCapture,
      running: countRunning,
    },
    async onEnded(worker) {
      addMetrics(endedTotals, lastMetrics.get(worker) ?? '', { totalsOnly: true });
      lastMetrics.delete(worker);
      await gateway.forgetWorker(worker);
    },
    onCrashed() {
      restarts += 1;
    },
  });
  const supervisor = await starting;
  gateway.setAddress(supervisor.address);
  return {
    pids: supervisor.pids,
    reload(next) {
      reloaded = next;
      supervisor.tellAll('reload', { text: next });
    },
    findCapture,
    countRunning,
    drain: () => supervisor.tellAll('drain', {}),
    flushed: flush,
    stop: supervisor.stop,
  };
}

function workerMetrics(running: number, restarts: number): string {
  return [
    '# HELP polygate_workers Worker processes that run.',
    '# TYPE polygate_workers gauge',
    `polygate_workers ${running}`,
    '# HELP polygate_worker_restarts_total Workers that ended by themselves and are started again.',
    '# TYPE polygate_worker_restarts_total counter',
    `polygate_worker_restarts_total ${restarts}`,
  ].join('\n');
}
