/** Transactions of operations on PostgreSQL. */

import type { Row, Transaction, Value } from '../operation.ts';
import { insertSql, parseStatement, type Statement, valuesOf } from '../statement.ts';
import { ARRAY_COUNTS } from '../time-counts.ts';
import { type QueryResult, runQuery, type SqlQuery } from './pool.ts';

/** Statements that are prepared by name on each connection; more than operations have. */
const MAX_PREPARED_STATEMENTS = 500;
/** Parameters of one statement, limited by the wire protocol. */
const MAX_PARAMETERS = 65_535;

interface Queryable {
  query(question: SqlQuery): Promise<QueryResult>;
}

const prepared = new Map<string, Statement & { name: string }>();

export function writingTransaction(client: Queryable, toQuery = preparedQuery): Transaction {
  const execute = (sql: string, row: Row = {}) => runQuery(client, toQuery(sql, row));
  return {
    all: async (sql, row) => (await execute(sql, row)).rows,
    run: async (sql, row) => (await execute(sql, row)).rowCount ?? 0,
    async insert(table, rows, { ignoreDuplicates = false } = {}) {
      const columns = Object.keys(rows[0] ?? {});
      const [first] = rows;
      if (!first) return 0;
      if (rows.length === 1) return (await execute(insertSql(table, columns, ignoreDuplicates), first)).rowCount ?? 0;
      const size = Math.floor(MAX_PARAMETERS / columns.length);
      let count = 0;
      for (let start = 0; start < rows.length; start += size) {
        const batch = bulkInsert({ table, columns, rows: rows.slice(start, start + size), ignoreDuplicates });
        count += (await runQuery(client, batch)).rowCount ?? 0;
      }
      return count;
    },
    forUpdate: 'FOR UPDATE',
    skipLocked: 'FOR UPDATE SKIP LOCKED',
    joinEach,
    textsIn,
    memberOf,
    counts: ARRAY_COUNTS,
  };
}

/**
 * Runs each statement in its own implicit transaction, on any connection. A scan is planned for its values each time: a plan for
 * any values reads whole tables.
 */
export function readingTransaction(pool: Queryable, scans: boolean): Transaction {
  const { all } = writingTransaction(pool, scans ? plannedQuery : preparedQuery);
  const modes = { forUpdate: '', skipLocked: '', joinEach, textsIn, memberOf, counts: ARRAY_COUNTS } as const;
  return { all, run: refuseWrite, insert: refuseWrite, ...modes };
}

/** The planner does not look into a subquery with an offset. */
function joinEach(outer: string, table: string, where: string): string {
  return `${outer} CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE ${where} OFFSET 0) AS ${table}`;
}

function textsIn(parameter: string): string {
  return `SELECT jsonb_array_elements_text(CAST(:${parameter} AS jsonb))`;
}

function memberOf(column: string, member: string): string {
  return `CAST(${column} AS jsonb) ->> '${member}'`;
}

function refuseWrite(): never {
  throw new Error('a reading operation changes nothing');
}

function plannedQuery(sql: string, row: Row): SqlQuery {
  const statement = parseStatement(sql);
  return { text: statement.numbered, values: valuesOf(statement, row) };
}

function preparedQuery(sql: string, row: Row): SqlQuery {
  const known = prepared.get(sql);
  if (known) return { name: known.name, text: known.numbered, values: valuesOf(known, row) };
  const statement = parseStatement(sql);
  const values = valuesOf(statement, row);
  if (prepared.size >= MAX_PREPARED_STATEMENTS) return { text: statement.numbered, values };
  const name = `polygate_${prepared.size + 1}`;
  prepared.set(sql, { ...statement, name });
  return { name, text: statement.numbered, values };
}

interface BulkInsert {
  table: string;
  columns: readonly string[];
  rows: readonly Row[];
  ignoreDuplicates: boolean;
}

function bulkInsert({ table, columns, rows, ignoreDuplicates }: BulkInsert): SqlQuery {
  const values: Value[] = [];
  const tuples = rows.map((row) => {
    const placeholders = columns.map((column) => {
      const value = row[column];
      if (value === undefined) throw new Error(`no value for ${column}`);
      return `$${values.push(value)}`;
    });
    return `(${placeholders.join(', ')})`;
  });
  const conflict = ignoreDuplicates ? ' ON CONFLICT DO NOTHING' : '';
  return { text: `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${tuples.join(', ')}${conflict}`, values };
}
