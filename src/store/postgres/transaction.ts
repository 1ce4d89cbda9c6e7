/** How operations talk to PostgreSQL. */

import type { Row, Transaction, Value } from '../operation.ts';
import { insertion, parseStatement, type Statement, valuesOf } from '../statement.ts';
import { ask, type QueryResult, type Question } from './pool.ts';

/** Statements prepared once a connection; operations have far fewer. */
const PREPARED = 500;
/** Most parameters of one statement, by the wire format. */
const PARAMETERS = 65_535;

interface Asked {
  query(question: Question): Promise<QueryResult>;
}

const prepared = new Map<string, Statement & { name: string }>();

export function writingTransaction(client: Asked): Transaction {
  const execute = (sql: string, row: Row = {}) => ask(client, question(sql, row));
  return {
    all: async (sql, row) => (await execute(sql, row)).rows,
    run: async (sql, row) => (await execute(sql, row)).rowCount ?? 0,
    async insert(table, rows, { ignoreDuplicates = false } = {}) {
      const columns = Object.keys(rows[0] ?? {});
      const [first] = rows;
      if (!first) return 0;
      if (rows.length === 1) return (await execute(insertion(table, columns, ignoreDuplicates), first)).rowCount ?? 0;
      const size = Math.floor(PARAMETERS / columns.length);
      let count = 0;
      for (let start = 0; start < rows.length; start += size) {
        const some = bulkInsertion({ table, columns, rows: rows.slice(start, start + size), ignoreDuplicates });
        count += (await ask(client, some)).rowCount ?? 0;
      }
      return count;
    },
    forUpdate: 'FOR UPDATE',
    skipLocked: 'FOR UPDATE SKIP LOCKED',
  };
}

/** Each statement on its own, on any connection. */
export function readingTransaction(pool: Asked): Transaction {
  const { all } = writingTransaction(pool);
  return { all, run: refuse, insert: refuse, forUpdate: '', skipLocked: '' };
}

function refuse(): never {
  throw new Error('a reading operation changes nothing');
}

function question(sql: string, row: Row): Question {
  const known = prepared.get(sql);
  if (known) return { name: known.name, text: known.numbered, values: valuesOf(known, row) };
  const statement = parseStatement(sql);
  const values = valuesOf(statement, row);
  if (prepared.size >= PREPARED) return { text: statement.numbered, values };
  const name = `polygate_${prepared.size + 1}`;
  prepared.set(sql, { ...statement, name });
  return { name, text: statement.numbered, values };
}

interface Bulk {
  table: string;
  columns: readonly string[];
  rows: readonly Row[];
  ignoreDuplicates: boolean;
}

function bulkInsertion({ table, columns, rows, ignoreDuplicates }: Bulk): Question {
  const values: Value[] = [];
  const tuples = rows.map((row) => {
    const marks = columns.map((column) => {
      const value = row[column];
      if (value === undefined) throw new Error(`no value for ${column}`);
      return `$${values.push(value)}`;
    });
    return `(${marks.join(', ')})`;
  });
  const conflict = ignoreDuplicates ? ' ON CONFLICT DO NOTHING' : '';
  return { text: `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${tuples.join(', ')}${conflict}`, values };
}
