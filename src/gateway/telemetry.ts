/** Telemetry of a gateway, with readings of its state: providers, endpoints in cooldown, the store, and budgets. */

import { statfs } from 'node:fs/promises';
import type { Clock } from '../core/clock.ts';
import { moneyOf } from '../core/money.ts';
import { type Key, stateOf } from '../keys/key.ts';
import type { KeyStore } from '../keys/store.ts';
import type { LimitSubject } from '../limits/subjects.ts';
import { PERIODS } from '../records/key-settings.ts';
import type { CircuitBreaker } from '../routing/circuit-breaker.ts';
import { createRoutingState, type RoutingState } from '../routing/state.ts';
import type { Store } from '../store/store.ts';
import { answerInTime } from '../store/unavailable.ts';
import type { BudgetState, EndpointState, StateReadings, StoreState } from '../telemetry/state-metrics.ts';
import { openTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { spendingOf } from '../usage/spending.ts';
import type { Accounting } from './accounting.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { WorkerProcess } from './process.ts';
import type { ProviderRegistry } from './provider-registry.ts';
import type { PartsInUse } from './reloadable-parts.ts';

interface GatewayTelemetryOptions extends Pick<GatewayOptions, 'config' | 'keys' | 'store' | 'log' | 'version'> {
  clock: Clock;
  worker: Pick<WorkerProcess, 'shareCooldown'> | undefined;
  parts: PartsInUse;
}

interface OpenedTelemetry {
  telemetry: Telemetry;
  state: RoutingState;
}

interface StateReadingsOptions {
  models(): ProviderRegistry;
  breaker(): Pick<CircuitBreaker, 'cooldown' | 'inCooldown'>;
  /** The store with all records that were acknowledged. */
  records(): Pick<Store, 'call' | 'engine' | 'now'>;
  keys: Pick<KeyStore, 'list'>;
  /** A key and its tags, with their budgets. */
  subjects(key: Key): readonly LimitSubject[];
  /** The data folder. */
  folder: string;
  /** Names of the keys whose budgets are read. */
  budgetKeys: readonly string[];
  clock: Pick<Clock, 'now' | 'after'>;
  /** Whether another process of the gateway reports the figures of the store. */
  isWorker: boolean;
}

/** Opens telemetry and the state of routing, each of which reads the other. */
export async function openGatewayTelemetry(
  { config, keys, store, log, version, clock, worker, parts }: GatewayTelemetryOptions,
  { recorder, records, admission }: Pick<Accounting, 'recorder' | 'records' | 'admission'>,
): Promise<OpenedTelemetry> {
  const telemetry = await openTelemetry({
    ...config.telemetry,
    version,
    log,
    storeWritable: async () => (await store.health()).writable,
    usageWaiting: () => recorder.waiting,
    usageLost: () => recorder.lost,
    usageRefused: () => recorder.refused,
    readings: createStateReadings({
      models: () => parts.now.models,
      breaker: () => state.breaker,
      records: () => records,
      keys,
      subjects: (key) => admission.subjects(key),
      folder: config.data,
      budgetKeys: config.telemetry.budgetKeys,
      clock,
      isWorker: worker !== undefined,
    }),
  });
  const state = createRoutingState({
    cooldown: () => parts.now.config.routing.cooldown,
    now: clock.monotonic,
    onCooldown(circuit) {
      telemetry.metrics.events.endpointCooledDown(circuit.id);
      worker?.shareCooldown(circuit);
    },
  });
  return { telemetry, state };
}

function createStateReadings(options: StateReadingsOptions): StateReadings {
  const { models, breaker, records, folder, budgetKeys, clock, isWorker } = options;
  const own: StateReadings = {
    providers: () =>
      models()
        .states()
        .filter(({ state }) => state !== 'waiting')
        .map(({ id, state }) => ({ id, ready: state === 'ready' })),
    endpoints: () => endpointStates(models(), breaker()),
  };
  if (isWorker) return own;
  return {
    ...own,
    store: () => answerInTime(storeState(records(), clock.now()), clock),
    dataFree: () => freeShareOf(folder),
    ...(budgetKeys.length > 0 && { budgets: () => answerInTime(budgetStates(options), clock) }),
  };
}

/**
 * Of configured models all endpoints, of others those in cooldown. An endpoint with several credentials is in cooldown while
 * it is with each of them.
 */
function endpointStates(
  { providers, routes }: Pick<ProviderRegistry, 'providers' | 'routes'>,
  breaker: Pick<CircuitBreaker, 'cooldown' | 'inCooldown'>,
): EndpointState[] {
  function stateOf(model: string, provider: string, upstreamModel: string): EndpointState {
    const endpoint = `${provider}/${upstreamModel}`;
    const credentials = providers.get(provider)?.credentials.all() ?? [];
    const inCooldown = credentials.every(
      (credential) => credential.cooldown() > 0 || breaker.cooldown(`${endpoint}#${credential.id}`) !== undefined,
    );
    return { provider, model, endpoint, inCooldown };
  }
  const configured = [...routes.models].flatMap(([id, endpoints]) =>
    endpoints.map(({ provider, model }) => stateOf(id, provider, model)),
  );
  const failed = new Set(breaker.inCooldown().map((id) => id.slice(0, id.indexOf('#'))));
  const others = [...failed].flatMap((endpoint) => {
    const slash = endpoint.indexOf('/');
    const state = stateOf(endpoint, endpoint.slice(0, slash), endpoint.slice(slash + 1));
    return providers.has(state.provider) && state.inCooldown && !routes.models.has(endpoint) ? [state] : [];
  });
  return [...configured, ...others];
}

async function freeShareOf(folder: string): Promise<number> {
  const { bavail, blocks } = await statfs(folder);
  return bavail / blocks;
}

/** Figures of the jobs in a store, its size in bytes, and the time of its last backup; undefined without a backup. */
export async function readStoreFigures(store: Pick<Store, 'call' | 'engine' | 'now'>) {
  const { engine } = store;
  const [jobs, state, usage, backupAt] = await Promise.all([
    store.call('jobFigures', { now: store.now() }),
    store.call('stateBytes', { engine }),
    store.call('usageBytes', { engine }),
    store.call('readMoment', { name: 'backup' }),
  ]);
  return { jobs, bytes: state + usage, backupAt };
}

async function storeState(store: Pick<Store, 'call' | 'engine' | 'now'>, now: number): Promise<StoreState> {
  const { jobs, bytes, backupAt } = await readStoreFigures(store);
  return {
    jobs: jobs.map(({ kind, due, oldestDueAt }) => ({
      kind,
      due,
      oldestSeconds: oldestDueAt === undefined ? 0 : Math.max(0, store.now() - oldestDueAt) / 1000,
    })),
    bytes,
    ...(backupAt !== undefined && { backupSeconds: Math.max(0, now - backupAt) / 1000 }),
  };
}

async function budgetStates({
  keys,
  subjects,
  records,
  budgetKeys,
  clock: { now },
}: StateReadingsOptions): Promise<BudgetState[]> {
  const wanted = new Set(budgetKeys);
  const found = (await keys.list()).filter((key) => wanted.has(key.name) && stateOf(key, now()) === 'active');
  const states = found.flatMap((key) =>
    subjects(key)
      .slice(0, 1)
      .map((subject) => budgetsOf(key.name, subject, records(), now())),
  );
  return (await Promise.all(states)).flat();
}

async function budgetsOf(
  key: string,
  subject: LimitSubject,
  records: Pick<Store, 'call'>,
  now: number,
): Promise<BudgetState[]> {
  const { spent } = await spendingOf(records, subject, now);
  return PERIODS.flatMap((period) => {
    const budget = subject.budgets[period];
    if (budget === undefined) return [];
    const limit = Number(moneyOf(budget));
    const left = limit === 0 ? 0 : Math.max(0, 1 - Number(spent[period]) / limit);
    return [{ key, period, left }];
  });
}
