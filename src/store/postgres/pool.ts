/** Connections to PostgreSQL, with values as the embedded engine gives them. */

import { Pool, types } from 'pg';
import { engineError, Inexact } from './failure.ts';

/** Milliseconds: for a connection, for a statement on the server, for its answer here. */
const CONNECT_TIMEOUT = 5000;
const STATEMENT_TIMEOUT = 10_000;
const ANSWER_TIMEOUT = 15_000;
/** Milliseconds after which the server ends a transaction that nobody uses. */
const IDLE_TIMEOUT = 10_000;

const BOOLEAN = 16;
const BIGINT = 20;

export function createPool(url: string, connections: number): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    application_name: 'polygate',
    keepAlive: true,
    allowExitOnIdle: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    statement_timeout: STATEMENT_TIMEOUT,
    query_timeout: ANSWER_TIMEOUT,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT,
    types: { getTypeParser },
  });
  // A connection that ends fails the next statement on it, or is replaced when the next one is needed.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}

export interface QueryResult {
  command: string;
  rowCount: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: the columns are those of the statement
  rows: any[];
}

export interface Question {
  name?: string;
  text: string;
  values?: unknown[];
}

/** Throws what `engineError` makes of a failure. */
export async function ask(
  asked: { query(question: Question): Promise<QueryResult> },
  question: Question | string,
): Promise<QueryResult> {
  try {
    return await asked.query(typeof question === 'string' ? { text: question } : question);
  } catch (error) {
    throw engineError(error);
  }
}

const getTypeParser: typeof types.getTypeParser = (id: number, format?: 'text' | 'binary') => {
  if (id === BIGINT) return integer;
  if (id === BOOLEAN) return (text: string) => (text === 't' ? 1 : 0);
  return types.getTypeParser(id, format as 'text');
};

function integer(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Inexact(`${text} is too large to be read as a number; read it as text`);
  return value;
}
