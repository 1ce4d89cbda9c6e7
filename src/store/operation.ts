/** Store operations: SQL transactions written once for SQLite and PostgreSQL. */

/** A value that both engines support. Booleans are 0 and 1, JSON is text, timestamps are Unix milliseconds. */
export type Value = string | number | bigint | null | Uint8Array;

export type Row = Record<string, Value>;

export type MaybePromise<Result> = Result | Promise<Result>;

/** The transaction an operation runs in. Statements name their parameters `:name`. */
export interface Transaction {
  /** Returns the rows of a query. */
  all(sql: string, values?: Row): MaybePromise<Row[]>;
  /** Returns the number of changed rows. */
  run(sql: string, values?: Row): MaybePromise<number>;
  /** Inserts rows with the same columns. With `ignoreDuplicates`, rows that violate a unique constraint are skipped. */
  insert(table: string, rows: readonly Row[], options?: { ignoreDuplicates?: boolean }): MaybePromise<number>;
  /** Row lock at the end of a SELECT whose rows will be changed; empty where there is only one writer. */
  readonly forUpdate: '' | 'FOR UPDATE';
  /** Row lock that skips rows locked by others, for claims. */
  readonly skipLocked: '' | 'FOR UPDATE SKIP LOCKED';
  /**
   * Joins rows of a table to each row of `outer`, in this order: a planner that chooses another one reads whole tables. `where`
   * may name columns of both.
   */
  joinEach(outer: string, table: string, where: string): string;
  /** SELECT of the texts in a parameter that is a JSON array: a list of parameters has an end. */
  textsIn(parameter: string): string;
  /** Text of a member of the JSON object in a column; null if it has none. */
  memberOf(column: string, member: string): string;
  /** Lists of counts in one column. */
  readonly counts: CountsForm;
}

/** Form of lists of counts, which are of one length. */
export interface CountsForm {
  encode(counts: readonly number[]): Value;
  decode(value: Value): number[];
  /** Expression of the sums of two lists. */
  sum(one: string, other: string): string;
  /** Expression of the sums over rows. */
  total(column: string): string;
}

/**
 * `state`: keys, tasks, jobs, deliveries. `usage`: usage records, sums and limits. The embedded store keeps them in
 * two files, each with its own writer; in PostgreSQL they are one database.
 */
export type Database = 'state' | 'usage';

/** Parameters and results are structured-cloneable. `run` awaits only its transaction. */
export interface StoreOperation<Parameters, Result> {
  readonly database: Database;
  /** A reading operation runs outside transactions and sees committed data. */
  readonly writes: boolean;
  /** Whether a reading operation may take long, so that it must never delay writes. */
  readonly scans: boolean;
  run(transaction: Transaction, parameters: Parameters): MaybePromise<Result>;
}

type Run<Parameters, Result> = StoreOperation<Parameters, Result>['run'];

export function reading<Parameters, Result>(
  database: Database,
  run: Run<Parameters, Result>,
): StoreOperation<Parameters, Result> {
  return { database, writes: false, scans: false, run };
}

/** A reading operation over many rows. */
export function scanning<Parameters, Result>(
  database: Database,
  run: Run<Parameters, Result>,
): StoreOperation<Parameters, Result> {
  return { database, writes: false, scans: true, run };
}

export function writing<Parameters, Result>(
  database: Database,
  run: Run<Parameters, Result>,
): StoreOperation<Parameters, Result> {
  return { database, writes: true, scans: false, run };
}
