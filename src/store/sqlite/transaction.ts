/** How operations talk to a SQLite connection. */

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Row, Transaction, Value } from '../operation.ts';
import { insertion, parseStatement } from '../statement.ts';
import { engineError } from './failure.ts';

/** Statements kept prepared; operations have far fewer. */
const PREPARED = 500;

interface Prepared {
  names: readonly string[];
  statement: StatementSync;
}

export interface Session {
  writing: Transaction;
  /** Refuses to change anything. */
  reading: Transaction;
}

export function createSession(connection: DatabaseSync): Session {
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string): Prepared {
    const known = prepared.get(sql);
    if (known) return known;
    if (prepared.size >= PREPARED) prepared.clear();
    const fresh = { names: parseStatement(sql).names, statement: connection.prepare(sql) };
    prepared.set(sql, fresh);
    return fresh;
  }

  function execute<Result>(sql: string, row: Row, run: (statement: StatementSync, values: Row) => Result): Result {
    try {
      const { names, statement } = prepare(sql);
      return run(statement, chosen(names, row));
    } catch (error) {
      throw engineError(error);
    }
  }

  const all = (sql: string, row: Row = {}) => execute(sql, row, (statement, values) => statement.all(values) as Row[]);
  const run = (sql: string, row: Row = {}) =>
    execute(sql, row, (statement, values) => Number(statement.run(values).changes));
  const modes = { forUpdate: '', skipLocked: '' } as const;
  return {
    writing: {
      all,
      run,
      insert(table, rows, { ignoreDuplicates = false } = {}) {
        const columns = Object.keys(rows[0] ?? {});
        const sql = insertion(table, columns, ignoreDuplicates);
        return rows.reduce((count, row) => count + run(sql, row), 0);
      },
      ...modes,
    },
    reading: { all, run: refuse, insert: refuse, ...modes },
  };
}

function refuse(): never {
  throw new Error('a reading operation changes nothing');
}

function chosen(names: readonly string[], row: Row): Row {
  const values: Record<string, Value> = {};
  for (const name of names) {
    const value = row[name];
    if (value === undefined) throw new Error(`no value for :${name}`);
    values[name] = value;
  }
  return values;
}
