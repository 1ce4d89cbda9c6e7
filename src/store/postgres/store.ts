/** The store of several gateways: one PostgreSQL database. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { GatewayError } from '../../core/errors.ts';
import type { Secret } from '../../security/secret.ts';
import { healthOf } from '../health.ts';
import type { Database, StoreOperation, Transaction } from '../operation.ts';
import type { Store } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { createServerClock } from './clock.ts';
import { Conflict, engineError } from './failure.ts';
import { migrate } from './migrate.ts';
import { hasCommitted, INCARNATION, type TransactionId } from './outcome.ts';
import { ask, createPool, type QueryResult, type Question } from './pool.ts';
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

export async function openPostgres({ url, operations: module, migrations, ...rest }: PostgresOptions): Promise<Store> {
  const { patience = PATIENCE } = rest;
  const { operations }: { operations: Record<string, StoreOperation<unknown, unknown>> } = await import(module.href);
  const pools = {
    state: createPool(url.reveal(), CONNECTIONS.state),
    usage: createPool(url.reveal(), CONNECTIONS.usage),
  };
  const clock = createServerClock(async () => {
    const text = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now';
    const { rows } = await ask(pools.state, text);
    return Number(rows[0]?.now);
  });

  async function run(name: string, parameters: unknown): Promise<unknown> {
    const operation = operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    const pool = pools[operation.database];
    if (!operation.writes) return operation.run(readingTransaction(pool), parameters);
    const work = (transaction: Transaction) => operation.run(transaction, parameters);
    return persistently(() => transact(pool, patience, (client) => inTime(client, work, { name, patience })));
  }

  const running = new Set<Promise<unknown>>();
  function call(name: string, parameters: unknown): Promise<unknown> {
    if (closed) return Promise.reject(new StoreUnavailable('the store is closed'));
    const result = run(name, parameters).finally(() => running.delete(result));
    running.add(result);
    return result;
  }

  let closed: Promise<unknown> | undefined;
  async function close(): Promise<void> {
    clock.close();
    // A pool that ends forgets who waits for a connection.
    closed ??= Promise.allSettled(running).then(() => Promise.all([pools.state.end(), pools.usage.end()]));
    await closed;
  }

  try {
    await transact(pools.state, patience, (client) => migrate(client, migrations));
    await clock.synchronise();
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
    health: () => healthOf(store),
    close,
  };
  return store;
}

/** What `work` does becomes durable together or not at all; an answer that was lost is asked for again. */
async function transact<Result>(
  pool: Pool,
  patience: number,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool);
  let broken: Error | undefined;
  let worked: { transaction: TransactionId; result: Result } | undefined;
  try {
    const transaction = await begin(client);
    worked = { transaction, result: await work(client) };
    const { command } = await ask(client, 'COMMIT');
    if (command !== 'COMMIT') throw new Error('the operation went on after a statement that failed');
    return worked.result;
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof Overdue) broken = error;
    else await ask(client, 'ROLLBACK').catch((failure: Error) => (broken = failure));
    if (!worked || !broken) throw error;
  } finally {
    client.release(broken);
  }
  if (await hasCommitted(pool, worked.transaction, patience)) return worked.result;
  throw broken;
}

/** The id by which the server knows the transaction. */
async function begin(client: PoolClient): Promise<TransactionId> {
  // Several statements in one message have an answer each.
  const answers: unknown = await ask(
    client,
    `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT CAST(pg_current_xact_id() AS text) AS id, ${INCARNATION} AS incarnation`,
  );
  const [, { rows }] = answers as [QueryResult, QueryResult];
  return { id: String(rows[0]?.id), incarnation: String(rows[0]?.incarnation) };
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

/** A server that lets a statement wait is to blame for it; an operation that asks nothing is not right. */
async function inTime<Result>(
  client: PoolClient,
  work: (transaction: Transaction) => Result | Promise<Result>,
  { name, patience }: { name: string; patience: number },
): Promise<Result> {
  let asked = 0;
  const query = (question: Question): Promise<QueryResult> => {
    asked += 1;
    return client.query(question).finally(() => (asked -= 1));
  };
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    const late = () => (asked > 0 ? new StoreUnavailable(`the operation ${name} took too long`) : waits(name));
    timer = setTimeout(() => reject(late()), patience);
  });
  return Promise.race([work(writingTransaction({ query })), overdue]).finally(() => clearTimeout(timer));
}

function waits(name: string): Overdue {
  return new Overdue(`the operation ${name} waits for something other than its transaction`);
}
