/** The named parameters of SQL texts. */

import type { Row, Value } from './operation.ts';

/** Passes over strings and PostgreSQL's `::type`. */
const TOKEN = /'[^']*'|::\w+|:([A-Za-z_]\w*)/g;

export interface Statement {
  /** With `$1`, `$2` ... in place of the names. */
  numbered: string;
  names: readonly string[];
}

export function parseStatement(sql: string): Statement {
  const names: string[] = [];
  const numbered = sql.replace(TOKEN, (token, name?: string) => {
    if (name === undefined) return token;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { numbered, names };
}

/** The values of a statement's parameters in their order. */
export function valuesOf({ names }: Statement, row: Row): Value[] {
  return names.map((name) => {
    const value = row[name];
    if (value === undefined) throw new Error(`no value for :${name}`);
    return value;
  });
}

/** One row, with a parameter for each column. */
export function insertion(table: string, columns: readonly string[], ignoreDuplicates: boolean): string {
  const names = columns.map((column) => `:${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${names.join(', ')})${ignoreDuplicates ? ' ON CONFLICT DO NOTHING' : ''}`;
}
