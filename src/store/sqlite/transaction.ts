/** Transactions of operations on SQLite. */

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Row, Transaction, Value } from '../operation.ts';
import { insertSql, parseStatement, valuesOf } from '../statement.ts';
import { addPacked, noCounts, PACKED_COUNTS, packCounts } from '../time-counts.ts';
import { toStoreError } from './failure.ts';

/** Size of the prepared statement cache; operations have far fewer. */
const MAX_PREPARED_STATEMENTS = 500;

interface PreparedStatement {
  names: readonly string[];
  statement: StatementSync;
}

export interface Session {
  writing: Transaction;
  /** Rejects writes. */
  reading: Transaction;
}

export function createSession(connection: DatabaseSync): Session {
  const prepared = new Map<string, PreparedStatement>();

  function prepare(sql: string): PreparedStatement {
    const known = prepared.get(sql);
    if (known) return known;
    if (prepared.size >= MAX_PREPARED_STATEMENTS) prepared.clear();
    const fresh = { names: parseStatement(sql).names, statement: connection.prepare(sql) };
    prepared.set(sql, fresh);
    return fresh;
  }

  function execute<Result>(sql: string, row: Row, run: (statement: StatementSync, values: Row) => Result): Result {
    try {
      const { names, statement } = prepare(sql);
      return run(statement, bindValues(names, row));
    } catch (error) {
      throw toStoreError(error);
    }
  }

  const all = (sql: string, row: Row = {}) => execute(sql, row, (statement, values) => statement.all(values) as Row[]);
  const run = (sql: string, row: Row = {}) =>
    execute(sql, row, (statement, values) => Number(statement.run(values).changes));
  /** Binds by position: the parameters are in the order of the columns. */
  function insertRows(sql: string, names: readonly string[], rows: readonly Row[]): number {
    try {
      const { statement } = prepare(sql.replaceAll(/:\w+/g, '?'));
      let count = 0;
      for (const row of rows) count += Number(statement.run(...orderedValues(names, row)).changes);
      return count;
    } catch (error) {
      throw toStoreError(error);
    }
  }

  // A cross join keeps the order of its tables.
  const joinEach = (outer: string, table: string, where: string) => `${outer} CROSS JOIN ${table} WHERE ${where}`;
  const textsIn = (parameter: string) => `SELECT value FROM json_each(:${parameter})`;
  const memberOf = (column: string, member: string) => `${column} ->> '${member}'`;
  const modes = { forUpdate: '', skipLocked: '', joinEach, textsIn, memberOf, counts: PACKED_COUNTS } as const;
  addCountFunctions(connection);
  return {
    writing: {
      all,
      run,
      insert(table, rows, { ignoreDuplicates = false } = {}) {
        const columns = Object.keys(rows[0] ?? {});
        if (columns.length === 0) return 0;
        return insertRows(insertSql(table, columns, ignoreDuplicates), columns, rows);
      },
      ...modes,
    },
    reading: { all, run: refuseWrite, insert: refuseWrite, ...modes },
  };
}

/** The functions that expressions of `PACKED_COUNTS` call. */
export function addCountFunctions(connection: DatabaseSync): void {
  const sum = (one: Uint8Array | null, other: Uint8Array | null) =>
    packCounts(addPacked(addPacked(noCounts(), one), other));
  connection.function('sum_of_counts', { deterministic: true }, sum as never);
  connection.aggregate('total_counts', {
    start: noCounts as never,
    step: addPacked as never,
    result: packCounts as never,
  });
}

function refuseWrite(): never {
  throw new Error('a reading operation changes nothing');
}

function bindValues(names: readonly string[], row: Row): Row {
  const values: Record<string, Value> = {};
  for (const name of names) values[name] = boundValue(name, row);
  return values;
}

/** Rows of one table mostly have their columns in the same order. */
function orderedValues(names: readonly string[], row: Row): Value[] {
  const columns = Object.keys(row);
  const isOrdered = columns.length === names.length && columns.every((column, index) => column === names[index]);
  return isOrdered ? Object.values(row) : valuesOf({ names }, row);
}

function boundValue(name: string, row: Row): Value {
  const value = row[name];
  if (value === undefined) throw new Error(`no value for :${name}`);
  return value;
}
