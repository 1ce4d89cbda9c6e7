/** Metrics of the state of the gateway, read at each exposition: providers, endpoints, jobs, the store and budgets. */

import type { GaugeValue, Instruments } from './instruments.ts';

/** The part of the gateway's state that this process reports; another process reports the rest. */
export interface StateReadings {
  /** Providers with a credential. */
  providers?(): readonly { id: string; ready: boolean }[];
  endpoints?(): readonly EndpointState[];
  store?(): Promise<StoreState>;
  /** Free share of the disk with the data folder, from 0 to 1. */
  dataFree?(): Promise<number>;
  /** Share of budgets that is left. */
  budgets?(): Promise<readonly BudgetState[]>;
}

export interface EndpointState {
  provider: string;
  /** The gateway's name of the model. */
  model: string;
  /** `<provider>/<upstream model>`. */
  endpoint: string;
  inCooldown: boolean;
}

export interface StoreState {
  jobs: readonly { kind: string; due: number; oldestSeconds: number }[];
  bytes: number;
  /** Seconds since the last backup; absent if there was none. */
  backupSeconds?: number;
}

export interface BudgetState {
  /** Name of the key. */
  key: string;
  period: string;
  /** Share of the budget that is left, from 0 to 1. */
  left: number;
}

/** Series of one metric; the rest is left out. */
const MAX_SERIES = 1000;

export function addStateMetrics(instruments: Instruments, readings: StateReadings): void {
  const { providers, endpoints, store, dataFree, budgets } = readings;
  const gauges = (
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => GaugeValue[] | Promise<GaugeValue[]>,
  ) => {
    const bounded = async () => (await read()).slice(0, MAX_SERIES);
    // A store that cannot be read has a metric of its own.
    instruments.gauges(`polygate_${name}`, help, labelNames, () => bounded().catch(() => []));
  };
  if (providers) {
    gauges('provider_ready', '1 if the provider answered when it was last asked for its models.', ['provider'], () =>
      providers().map(({ id, ready }) => [[id], Number(ready)]),
    );
  }
  if (endpoints) {
    gauges(
      'endpoint_cooldown',
      '1 while an endpoint of the model is in cooldown after failures.',
      ['provider', 'model', 'endpoint'],
      () =>
        endpoints().map(({ provider, model, endpoint, inCooldown }) => [
          [provider, model, endpoint],
          Number(inCooldown),
        ]),
    );
  }
  if (dataFree) {
    gauges('data_free_ratio', 'Free share of the disk with the data folder, from 0 to 1.', [], async () => [
      [[], await dataFree()],
    ]);
  }
  if (store) addStoreMetrics(gauges, shared(store));
  if (budgets) {
    gauges('budget_left_ratio', 'Share of a budget that is left, from 0 to 1.', ['key', 'period'], async () =>
      (await budgets()).map(({ key, period, left }) => [[key, period], left]),
    );
  }
}

type AddGauges = (name: string, help: string, labelNames: readonly string[], read: () => Promise<GaugeValue[]>) => void;

function addStoreMetrics(gauges: AddGauges, store: () => Promise<StoreState>): void {
  gauges('jobs_due', 'Jobs that are due and not being run.', ['kind'], async () =>
    (await store()).jobs.map(({ kind, due }) => [[kind], due]),
  );
  gauges('jobs_oldest_seconds', 'How long the oldest job that is due has been waiting.', ['kind'], async () =>
    (await store()).jobs.map(({ kind, oldestSeconds }) => [[kind], oldestSeconds]),
  );
  gauges('store_bytes', 'Size of the store.', [], async () => [[[], (await store()).bytes]]);
  gauges('last_backup_seconds', 'Time since the last backup by polygate backup.', [], async () => {
    const { backupSeconds } = await store();
    return backupSeconds === undefined ? [] : [[[], backupSeconds]];
  });
}

/** Calls during one exposition share a result. */
function shared<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= read().finally(() => {
      running = undefined;
    });
    return running;
  };
}
