/** PostgreSQL connection pool; values have the types that the embedded engine returns. */

import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig, types } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';
import { InexactNumber, toStoreError } from './failure.ts';

/** Longest wait for a connection, and after it for its settings. */
const CONNECT_TIMEOUT_MS = 5000;
/** Time after which an unused connection is closed: a new one takes round trips, and networks forget one that is silent for four minutes. */
const UNUSED_TIMEOUT_MS = 120_000;
/** Longest execution of a statement on the server. */
const STATEMENT_TIMEOUT_MS = 10_000;
/** Longest wait of the client for a result. */
const QUERY_TIMEOUT_MS = 15_000;
/** Idle time after which the server aborts an open transaction. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;

const SHARED_SESSIONS =
  'a pooler shares its sessions among connections, as with pool_mode = transaction of PgBouncer; ' +
  'use session pooling, or connect to the server itself';

/** PostgreSQL type ids. */
const BOOLEAN_OID = 16;
const BIGINT_OID = 20;

/** Set by a statement: poolers refuse a connection with parameters that they do not know. */
const TIMEOUTS = `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`;

/** A client of a URL that names a file which cannot be read fails to connect; the pool also makes clients where nothing catches errors. */
const PooledClient = new Proxy(Client, {
  construct(_, [config]: [ClientConfig]) {
    try {
      return new Client(config);
    } catch (error) {
      const connect = (done: (error: unknown) => void) => queueMicrotask(() => done(error));
      return Object.assign(new Client(), { connect });
    }
  },
});

/** Connections without settings, which a pooler would keep in sessions that it shares. */
export function createPlainPool(url: string, connections: number, options: PoolConfig = {}): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    application_name: 'polygate',
    keepAlive: true,
    allowExitOnIdle: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: UNUSED_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    types: { getTypeParser },
    Client: PooledClient,
    ...options,
  });
  // A closed connection fails its next statement, or is replaced by the pool.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}

/** `settings`: SQL that is run once on each connection; `queryTimeoutMs`: 0 for none. */
export function createPool(url: string, connections: number, settings = '', queryTimeoutMs = QUERY_TIMEOUT_MS): Pool {
  const query = { text: `${TIMEOUTS}; ${settings}`, query_timeout: CONNECT_TIMEOUT_MS };
  const onConnect: PoolConfig['onConnect'] = async (client) => void (await client.query(query));
  return createPlainPool(url, connections, { query_timeout: queryTimeoutMs, onConnect });
}

/** One connection, whose statements may take any time. */
export function createMigrationPool(url: string): Pool {
  return createPool(url, 1, 'SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0', 0);
}

/** Connections for statements of arrays: more than one, for when one of them broke. */
const STATEMENT_CONNECTIONS = 2;
/** One plan for all sizes of an array, which finds rows by index also when it was made for an empty table. */
const STATEMENT_SETTINGS = 'SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off';

export function createStatementPool(url: string): Pool {
  return createPool(url, STATEMENT_CONNECTIONS, STATEMENT_SETTINGS);
}

export async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw toStoreError(error);
  }
}

/** A process id is unique on one host only, and a pooler may lead to several. */
const SESSION_SQL = "SELECT concat(pg_backend_pid(), ' ', pg_postmaster_start_time()) AS session";

/** Throws `StoreUnavailable` if a pooler shares sessions: prepared statements would be lost, and settings apply to other pools. */
export async function requireSessions(url: string): Promise<void> {
  const pool = createPlainPool(url, 2);
  const clients: PoolClient[] = [];
  try {
    while (clients.length < 2) clients.push(await connect(pool));
    const sessions: unknown[] = [];
    // The same order backwards: a pooler that takes its sessions in turn gives a client another one.
    for (const client of [...clients, ...clients.toReversed()])
      sessions.push((await runQuery(client, SESSION_SQL)).rows[0].session);
    const [first, second, ...again] = sessions;
    if (first === second || second !== again[0] || first !== again[1]) throw new StoreUnavailable(SHARED_SESSIONS);
  } finally {
    for (const client of clients) client.release();
    await pool.end();
  }
}

export interface QueryResult {
  command: string;
  rowCount: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: the columns are those of the statement
  rows: any[];
}

export interface SqlQuery {
  name?: string;
  text: string;
  values?: unknown[];
}

/** Null characters in texts, which PostgreSQL cannot hold, become U+FFFD. Throws errors mapped by `toStoreError`. */
export async function runQuery(
  target: { query(query: SqlQuery): Promise<QueryResult> },
  question: SqlQuery | string,
): Promise<QueryResult> {
  const query = typeof question === 'string' ? { text: question } : question;
  const { values } = query as SqlQuery;
  try {
    return await target.query(values?.some(hasNull) ? { ...query, values: values.map(withoutNulls) } : query);
  } catch (error) {
    throw toStoreError(error);
  }
}

function hasNull(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\0');
}

function withoutNulls(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
}

const getTypeParser: typeof types.getTypeParser = (id: number, format?: 'text' | 'binary') => {
  if (id === BIGINT_OID) return parseInteger;
  if (id === BOOLEAN_OID) return (text: string) => (text === 't' ? 1 : 0);
  return types.getTypeParser(id, format as 'text');
};

function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new InexactNumber(`${text} is too large to be read as a number; read it as text`);
  return value;
}
