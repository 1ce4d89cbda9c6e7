/** Named parameters of SQL statements. */

import type { Row, Value } from './operation.ts';

/** Skips string literals and PostgreSQL's `::type` casts. */
const TOKEN_PATTERN = /'[^']*'|::\w+|:([A-Za-z_]\w*)/g;

export interface Statement {
  /** SQL with `$1`, `$2` ... in place of the names. */
  numbered: string;
  names: readonly string[];
}

/** Replaces `:name` by `$1`, `$2` and so on; `names` are in the order of the numbers. */
export function parseStatement(sql: string): Statement {
  const names: string[] = [];
  const numbered = sql.replace(TOKEN_PATTERN, (token, name?: string) => {
    if (name === undefined) return token;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { numbered, names };
}

/** Parameter values of a statement, in their order. */
export function valuesOf({ names }: Pick<Statement, 'names'>, row: Row): Value[] {
  return names.map((name) => {
    const value = row[name];
    if (value === undefined) throw new Error(`no value for :${name}`);
    return value;
  });
}

/** INSERT statement of one row, with a parameter for each column. */
export function insertSql(table: string, columns: readonly string[], ignoreDuplicates: boolean): string {
  const names = columns.map((column) => `:${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${names.join(', ')})${ignoreDuplicates ? ' ON CONFLICT DO NOTHING' : ''}`;
}
