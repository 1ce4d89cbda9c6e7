/** What an operation of the store is: a few SQL statements, written once and run alike by SQLite and PostgreSQL. */

/** A value that both engines take and give; booleans are 0 and 1, JSON is text, moments are Unix milliseconds. */
export type Value = string | number | bigint | null | Uint8Array;

export type Row = Record<string, Value>;

export type MaybePromise<Result> = Result | Promise<Result>;

/** The transaction an operation runs in. Statements name their parameters `:name`. */
export interface Transaction {
  all(sql: string, values?: Row): MaybePromise<Row[]>;
  /** How many rows were changed. */
  run(sql: string, values?: Row): MaybePromise<number>;
  /** Inserts rows that have the same columns; those that break a uniqueness rule are left out where `ignoreDuplicates`. */
  insert(table: string, rows: readonly Row[], options?: { ignoreDuplicates?: boolean }): MaybePromise<number>;
  /** Ends a SELECT whose rows are about to be changed: `FOR UPDATE` where writers are not alone. */
  readonly forUpdate: '' | 'FOR UPDATE';
  /** The same for a claim that leaves out what others hold: `FOR UPDATE SKIP LOCKED`. */
  readonly skipLocked: '' | 'FOR UPDATE SKIP LOCKED';
}

/**
 * `state`: keys, tasks, jobs, deliveries. `usage`: what requests used and what they may still use. They are two files in
 * the embedded store, each with a writer of its own, and one database in PostgreSQL.
 */
export type Database = 'state' | 'usage';

/** Parameters and results can be cloned into another thread. `run` awaits nothing but its transaction. */
export interface StoreOperation<Parameters, Result> {
  readonly database: Database;
  /** A reading operation runs beside transactions and sees what is committed. */
  readonly writes: boolean;
  run(transaction: Transaction, parameters: Parameters): MaybePromise<Result>;
}

type Run<Parameters, Result> = StoreOperation<Parameters, Result>['run'];

export function reading<Parameters, Result>(
  database: Database,
  run: Run<Parameters, Result>,
): StoreOperation<Parameters, Result> {
  return { database, writes: false, run };
}

export function writing<Parameters, Result>(
  database: Database,
  run: Run<Parameters, Result>,
): StoreOperation<Parameters, Result> {
  return { database, writes: true, run };
}
