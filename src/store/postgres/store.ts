/** The store of several gateways: one PostgreSQL database. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { GatewayError } from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import { healthOf } from '../health.ts';
import type { Database, Operation, Transaction } from '../operation.ts';
import type { Store } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { Conflict, engineError } from './failure.ts';
import { migrate } from './migrate.ts';
import { ask, createPool } from './pool.ts';
import { readingTransaction, writingTransaction } from './transaction.ts';

export interface PostgresOptions {
  url: Secret;
  /** The module that exports `operations`. */
  operations: URL;
  migrations: URL;
  /** Milliseconds that an operation may take. */
  patience?: number;
}

/** A flood of usage records leaves connections for everything else. */
const CONNECTIONS: Record<Database, number> = { state: 10, usage: 4 };
const PATIENCE = 10_000;
/** How often a transaction runs at most when others get in its way. */
const ATTEMPTS = 5;
/** Milliseconds between two looks at the server's clock. */
const CLOCK_INTERVAL = 30_000;

export async function openPostgres({ url, operations: module, migrations, ...rest }: PostgresOptions): Promise<Store> {
  const { patience = PATIENCE } = rest;
  const { operations }: { operations: Record<string, Operation<unknown, unknown>> } = await import(module.href);
  const pools = {
    state: createPool(url.reveal(), CONNECTIONS.state),
    usage: createPool(url.reveal(), CONNECTIONS.usage),
  };
  let offset = 0;

  async function setClock(): Promise<void> {
    const before = Date.now();
    const text = 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now';
    const { rows } = await ask(pools.state, text);
    offset = Math.round(Number(rows[0]?.now) - (before + Date.now()) / 2);
  }

  async function run(name: string, parameters: unknown): Promise<unknown> {
    const operation = operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    const pool = pools[operation.database];
    if (!operation.writes) return operation.run(readingTransaction(pool), parameters);
    const work = (transaction: Transaction) => operation.run(transaction, parameters);
    return persistently(() => transact(pool, (client) => inTime(work(writingTransaction(client)), name, patience)));
  }

  const running = new Set<Promise<unknown>>();
  function call(name: string, parameters: unknown): Promise<unknown> {
    if (closed) return Promise.reject(new StoreUnavailable('the store is closed'));
    const result = run(name, parameters).finally(() => running.delete(result));
    running.add(result);
    return result;
  }

  const clock = setInterval(() => setClock().catch(() => undefined), CLOCK_INTERVAL).unref();
  let closed: Promise<unknown> | undefined;
  async function close(): Promise<void> {
    clearInterval(clock);
    // A pool that ends forgets who waits for a connection.
    closed ??= Promise.allSettled(running).then(() => Promise.all([pools.state.end(), pools.usage.end()]));
    await closed;
  }

  try {
    await transact(pools.state, (client) => migrate(client, migrations));
    await setClock();
  } catch (error) {
    await close();
    throw error instanceof StoreUnavailable
      ? new GatewayError('unavailable', `The PostgreSQL database cannot be used: ${error.problem}.`, { cause: error })
      : error;
  }
  const store: Store = {
    engine: 'postgres',
    call: call as Store['call'],
    now: () => Date.now() + offset,
    health: () => healthOf(store),
    close,
  };
  return store;
}

/** What `work` does becomes durable together or not at all. */
async function transact<Result>(pool: Pool, work: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await connect(pool);
  let broken: Error | undefined;
  try {
    await ask(client, 'BEGIN ISOLATION LEVEL READ COMMITTED');
    const result = await work(client);
    const { command } = await ask(client, 'COMMIT');
    if (command !== 'COMMIT') throw new Error('the operation went on after a statement that failed');
    return result;
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof Overdue) broken = error;
    else await ask(client, 'ROLLBACK').catch((failure: Error) => (broken = failure));
    throw error;
  } finally {
    client.release(broken);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw engineError(error);
  }
}

async function persistently<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      if (attempt === ATTEMPTS) throw new StoreUnavailable(`transactions block each other (${error.message})`, error);
      await wait(Math.random() * 20 * attempt);
    }
  }
}

class Overdue extends Error {}

async function inTime<Result>(work: Result | Promise<Result>, name: string, patience: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    const late = () => reject(new Overdue(`the operation ${name} took too long or waits for something else`));
    timer = setTimeout(late, patience);
  });
  return Promise.race([work, overdue]).finally(() => clearTimeout(timer));
}
