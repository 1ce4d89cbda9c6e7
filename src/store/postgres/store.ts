/** PostgreSQL store, shared by several gateways. */

import type { Pool, PoolClient } from 'pg';
import { type Clock, sleep, systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Secret } from '../../security/secret.ts';
import { createHealthCheck } from '../health.ts';
import type { SchemaStatus } from '../migrations.ts';
import type { Database, MaybePromise, StoreOperation, Transaction } from '../operation.ts';
import type { ParametersOf, Store } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { createServerClock } from './clock.ts';
import { hasCommitted, SERVER_INCARNATION_SQL, type TransactionId } from './commit-outcome.ts';
import { isLockTimeout, StalePlan, TransactionConflict } from './failure.ts';
import { migrate, readSchemaStatus } from './migrate.ts';
import { dropMonths, isLargeMonth, keepMonths, prepareMonths } from './months.ts';
import {
  connect,
  createMigrationPool,
  createPlainPool,
  createPool,
  createStatementPool,
  type QueryResult,
  requireSessions,
  runQuery,
  type SqlQuery,
} from './pool.ts';
import { readingTransaction, writingTransaction } from './transaction.ts';
import { noteUsageGroup, writeUsageGroup } from './usage-group.ts';

export interface PostgresOptions {
  url: Secret;
  /** The module that exports `operations`. */
  operations: URL;
  migrations: URL;
  /** Timeout of an operation. */
  timeoutMs?: number;
  /** Connections per pool; those of a gateway if absent. */
  poolSizes?: Record<Database, number>;
  /** Clock of this machine. */
  clock?: Clock;
}

/** Limit of the time of an operation. */
interface TimeLimit {
  timeoutMs: number;
  clock: Clock;
}

/** Connections per pool. Separate pools keep a flood of usage records from blocking other operations. */
const POOL_SIZES: Record<Database, number> = { state: 10, usage: 4 };
/** Connections for operations that may take long, so that all others never wait for one of them. */
const SCAN_CONNECTIONS = 4;
/**
 * Reports of sums take less time than their compilation. Groups of keys and models are hashed: fewer come than the planner expects,
 * and to sort the rows takes longer.
 */
const USAGE_SETTINGS = 'SET jit = off; SET hash_mem_multiplier = 16';
const DAY_MS = 24 * 3600 * 1000;
const OPERATION_TIMEOUT_MS = 10_000;
/** Runs of a transaction that conflicts with others. */
const MAX_TRANSACTION_ATTEMPTS = 5;
/** Connections of a pool with a statement of before a migration, at most. */
const MAX_STALE_PLANS = 20;
/** Tries of a migration that waits for a table in use. */
const MAX_MIGRATION_ATTEMPTS = 20;
const MIGRATION_RETRY_DELAY_MS = 500;

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { url, operations: module, migrations, poolSizes = POOL_SIZES } = options;
  const { timeoutMs = OPERATION_TIMEOUT_MS, clock: localClock = systemClock } = options;
  const limit: TimeLimit = { timeoutMs, clock: localClock };
  const { operations }: { operations: Record<string, StoreOperation<unknown, unknown>> } = await import(module.href);
  const pools = {
    groups: createStatementPool(url.reveal()),
    state: createPool(url.reveal(), poolSizes.state),
    usage: createPool(url.reveal(), poolSizes.usage, USAGE_SETTINGS),
    scans: createPool(url.reveal(), SCAN_CONNECTIONS, USAGE_SETTINGS),
  };
  const clock = createServerClock(async () => {
    const text = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now';
    const { rows } = await runQuery(pools.state, text);
    return Number(rows[0]?.now);
  }, localClock);

  async function run(name: string, parameters: unknown): Promise<unknown> {
    const operation = operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    const pool = pools[operation.scans ? 'scans' : operation.database];
    if (!operation.writes)
      return retryOnConflict(localClock, () => operation.run(readingTransaction(pool, operation.scans), parameters));
    if (await retryOnConflict(localClock, () => runAsStatement(pools.groups, name, parameters))) return;
    if (name === 'pruneUsage') return pruneUsage(operation, parameters as ParametersOf<'pruneUsage'>);
    return runWriting(name, operation, parameters);
  }

  function runWriting(
    name: string,
    operation: StoreOperation<unknown, unknown>,
    parameters: unknown,
  ): Promise<unknown> {
    const pool = pools[operation.database];
    const work = (transaction: Transaction) => operation.run(transaction, parameters);
    return retryOnConflict(localClock, () =>
      inTransaction(pool, limit, (client) => withTimeout(client, work, { name, ...limit })),
    );
  }

  /** Whole months first, which are dropped; then rows, unless they are many and only old. */
  async function pruneUsage(
    operation: StoreOperation<unknown, unknown>,
    parameters: ParametersOf<'pruneUsage'>,
  ): Promise<unknown> {
    const before = parameters.day * DAY_MS;
    const inMaintenance = <Result>(work: (client: PoolClient) => Promise<Result>) =>
      retryOnConflict(localClock, () => inTransaction(pools.usage, limit, work));
    const dropped = await inMaintenance((client) => dropMonths(client, before));
    if (dropped > 0) return dropped;
    const keepsRequests = parameters.byAge === true && (await inMaintenance((client) => isLargeMonth(client, before)));
    return runWriting('pruneUsage', operation, { ...parameters, keepsRequests });
  }

  const months = keepMonths(
    () => inTransaction(pools.usage, limit, (client) => prepareMonths(client, clock.now())),
    localClock,
  );

  let running = 0;
  let onIdle = () => {};
  function call(name: string, parameters: unknown): Promise<unknown> {
    if (closed) return Promise.reject(new StoreUnavailable('the store is closed'));
    running += 1;
    return run(name, parameters).finally(() => {
      running -= 1;
      if (running === 0) onIdle();
    });
  }

  async function whenIdle(): Promise<void> {
    if (running > 0) await new Promise<void>((resolve) => (onIdle = resolve));
  }

  let closed: Promise<unknown> | undefined;
  async function close(): Promise<void> {
    clock.close();
    months.stop();
    // An ending pool never serves callers that wait for a connection.
    closed ??= whenIdle().then(() => Promise.all(Object.values(pools).map((pool) => pool.end())));
    await closed;
  }

  try {
    await requireSessions(url.reveal());
    const { pending } = await readSchemaStatus(pools.state, migrations);
    if (pending.length > 0) await applyMigrations(url.reveal(), migrations, limit);
    await clock.synchronise();
    await months.begin();
  } catch (error) {
    await close();
    throw error instanceof StoreUnavailable
      ? new GatewayError(
          'unavailable',
          `The PostgreSQL database named by data in the configuration cannot be used: ${error.problem}.`,
          {
            cause: error,
          },
        )
      : error;
  }
  const store: Store = {
    engine: 'postgres',
    call: call as Store['call'],
    now: clock.now,
    health: createHealthCheck({ call: call as Store['call'] }, localClock),
    close,
    access: { engine: 'postgres', url },
  };
  return store;
}

/** Changes nothing. Throws `StoreUnavailable`, and `unavailable` if the database is not one that this program may use. */
export async function databaseSchemaStatus(url: Secret, migrations: URL): Promise<SchemaStatus> {
  const pool = createPlainPool(url.reveal(), 1);
  try {
    return await readSchemaStatus(pool, migrations);
  } finally {
    await pool.end();
  }
}

/** Other gateways may start at the same moment, and continue after the migration. */
async function applyMigrations(url: string, migrations: URL, limit: TimeLimit): Promise<void> {
  const pool = createMigrationPool(url);
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return await retryOnConflict(limit.clock, () =>
          inTransaction(pool, limit, (client) => migrate(client, migrations)),
        );
      } catch (error) {
        if (!isLockTimeout(error) || attempt === MAX_MIGRATION_ATTEMPTS) throw error;
        await sleep(limit.clock, MIGRATION_RETRY_DELAY_MS);
      }
    }
  } finally {
    await pool.end();
  }
}

/** Operations that are usually one statement; false means that nothing was changed, and the operation is run. */
async function runAsStatement(pool: Pool, name: string, parameters: unknown): Promise<boolean> {
  if (name === 'noteUsageGroup') return noteUsageGroup(pool, parameters as ParametersOf<'noteUsageGroup'>);
  return name === 'recordUsage' && writeUsageGroup(pool, parameters as ParametersOf<'recordUsage'>);
}

/** Runs `work` in one transaction. If the acknowledgement of COMMIT is lost, asks the server for the outcome. */
async function inTransaction<Result>(
  pool: Pool,
  limit: TimeLimit,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool);
  let broken: Error | undefined;
  let completed: { transaction: TransactionId; result: Result } | undefined;
  try {
    const transaction = await beginTransaction(client);
    completed = { transaction, result: await work(client) };
    const { command } = await runQuery(client, 'COMMIT');
    if (command !== 'COMMIT') throw new Error('the operation went on after a statement that failed');
    return completed.result;
  } catch (error) {
    if ([StoreUnavailable, StalledOperation, StalePlan].some((kind) => error instanceof kind)) broken = error as Error;
    else await runQuery(client, 'ROLLBACK').catch((failure: Error) => (broken = failure));
    if (!completed || !broken) throw error;
  } finally {
    client.release(broken);
  }
  if (await hasCommitted(pool, completed.transaction, limit)) return completed.result;
  throw broken;
}

/** Begins a transaction and returns its id on the server. */
async function beginTransaction(client: PoolClient): Promise<TransactionId> {
  // Several statements in one message return an array of results.
  const results: unknown = await runQuery(
    client,
    `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT CAST(pg_current_xact_id() AS text) AS id, ${SERVER_INCARNATION_SQL} AS incarnation`,
  );
  const [, { rows }] = results as [QueryResult, QueryResult];
  return { id: String(rows[0]?.id), incarnation: String(rows[0]?.incarnation) };
}

async function retryOnConflict<Result>(clock: Clock, run: () => MaybePromise<Result>): Promise<Result> {
  let stalePlans = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error;
      // Each comes from a connection that is closed then.
      if (error instanceof StalePlan && stalePlans++ < MAX_STALE_PLANS) {
        attempt -= 1;
        continue;
      }
      if (attempt === MAX_TRANSACTION_ATTEMPTS)
        throw new StoreUnavailable(`transactions block each other (${error.message})`, error);
      await sleep(clock, Math.random() * 20 * attempt);
    }
  }
}

/** An operation that waits for something other than its transaction: a defect. */
class StalledOperation extends Error {}

/** On timeout, blames the server if a query is running, else the operation. */
async function withTimeout<Result>(
  client: PoolClient,
  work: (transaction: Transaction) => Result | Promise<Result>,
  { name, timeoutMs, clock }: TimeLimit & { name: string },
): Promise<Result> {
  let queriesRunning = 0;
  const query = (question: SqlQuery): Promise<QueryResult> => {
    queriesRunning += 1;
    return client.query(question).finally(() => (queriesRunning -= 1));
  };
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timeoutError = () =>
    queriesRunning > 0 ? new StoreUnavailable(`the operation ${name} took too long`) : stalledOperation(name);
  const cancel = clock.after(timeoutMs, () => reject(timeoutError()));
  return Promise.race([work(writingTransaction({ query })), overdue]).finally(cancel);
}

function stalledOperation(name: string): StalledOperation {
  return new StalledOperation(`the operation ${name} waits for something other than its transaction`);
}
