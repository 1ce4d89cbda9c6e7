/**
 * Writes of the usage recorder as one statement each, in a transaction of its own: a group as one row, and a fold of groups, or
 * a group of batched records, with intents, records and sums as arrays. A group changes nothing unless it is the instance's
 * next one, and a fold nothing unless it removes all of its groups, so that a repeated or late call has no effect.
 */

import type { Pool } from 'pg';
import type { Row, Value } from '../operation.ts';
import { requestNames, requestRow } from '../request-rows.ts';
import type { ParametersOf } from '../store.ts';
import { SumChanges } from '../sum-changes.ts';
import { ARRAY_COUNTS } from '../time-counts.ts';
import {
  BUDGET_COLUMNS,
  HOUR_KEY_COLUMNS,
  HOUR_SUM_COLUMNS,
  PART_KEY_COLUMNS,
  TIMES_COLUMN,
} from '../usage-columns.ts';
import { saturatingUpsert } from '../usage-sums.ts';
import { isConnectionLoss, isDivisionByZero, isUniqueViolation } from './failure.ts';
import { type QueryResult, runQuery, type SqlQuery } from './pool.ts';

type UsageGroup = ParametersOf<'recordUsage'>;

/** Type of each column. */
type Columns = readonly (readonly [name: string, type: 'text' | 'bigint' | 'integer[]'])[];

const INTENT_COLUMNS: Columns = [
  ['id', 'text'],
  ['instance', 'text'],
  ['started_at', 'bigint'],
  ['record', 'text'],
];

const REQUEST_COLUMNS: Columns = [
  ['at', 'bigint'],
  ['id', 'text'],
  ['started_at', 'bigint'],
  ['key_id', 'text'],
  ['model', 'text'],
  ['endpoint_provider', 'text'],
  ['endpoint_model', 'text'],
  ['protocol_in', 'text'],
  ['protocol_out', 'text'],
  ['stream', 'bigint'],
  ['status', 'text'],
  ['error_code', 'text'],
  ['finish', 'text'],
  ['estimated', 'bigint'],
  ['attempts', 'bigint'],
  ['input_tokens', 'bigint'],
  ['output_tokens', 'bigint'],
  ['cached_tokens', 'bigint'],
  ['cache_write_tokens', 'bigint'],
  ['reasoning_tokens', 'bigint'],
  ['audio_tokens', 'bigint'],
  ['searches', 'bigint'],
  ['cost', 'bigint'],
  ['first_byte_ms', 'bigint'],
  ['total_ms', 'bigint'],
  ['upstream_id', 'text'],
  ['ended_at', 'bigint'],
  ['trace', 'text'],
  ['tags', 'text'],
  ['tool_failures', 'bigint'],
  ['unpriced', 'bigint'],
];

const NAME_COLUMNS: Columns = [
  ['span', 'bigint'],
  ['hash', 'bigint'],
  ['at', 'bigint'],
];

const typed = (names: readonly string[], texts: readonly string[]): Columns =>
  names.map((name) => [name, texts.includes(name) ? 'text' : 'bigint']);
const PART_COLUMNS: Columns = [
  ...typed(
    [...PART_KEY_COLUMNS, ...HOUR_SUM_COLUMNS],
    PART_KEY_COLUMNS.filter((name) => name !== 'hour'),
  ),
  [TIMES_COLUMN, 'integer[]'],
];
const HOUR_COLUMNS = typed([...HOUR_KEY_COLUMNS, ...HOUR_SUM_COLUMNS], ['key_id', 'model', 'provider']);
const BUDGET_TYPES = typed(BUDGET_COLUMNS, ['key_id', 'period']);

/** Parts that a statement has: few combinations, so few statements are prepared. */
interface StatementParts {
  folds: boolean;
  begun: boolean;
  ended: boolean;
  finished: boolean;
}

const statements = new Map<string, { name: string; text: string }>();

const NOTE = {
  name: 'usage_note',
  text: `WITH turn AS (UPDATE instance SET flush = $2 WHERE id = $1 AND flush < $2 RETURNING id)
    INSERT INTO usage_group (instance, number, records) SELECT $1, $2, $3 FROM turn`,
};

/** False if nothing was changed: the group is not the next one, or its instance is unknown. */
export async function noteUsageGroup(pool: Pool, group: ParametersOf<'noteUsageGroup'>): Promise<boolean> {
  const { rowCount } = await runRepeatable(pool, { ...NOTE, values: [group.instance, group.number, group.records] });
  return rowCount === 1;
}

/**
 * False if nothing was changed: the group is not the next one, its instance is unknown, one of its records exists, or other
 * gateways folded some of the groups.
 */
export async function writeUsageGroup(pool: Pool, group: UsageGroup): Promise<boolean> {
  const { turn, folded, begun, finished, withdrawn = [] } = group;
  if ((!turn && !folded) || withdrawn.some((one) => one.begun !== false)) return false;
  const ended = finished.flatMap((one) => (one.begun ? [one.row.id] : []));
  const values: Value[] = folded
    ? [folded.instance, folded.to, folded.after]
    : turn
      ? [turn.instance, turn.number]
      : [];
  if (begun.length > 0) values.push(...arraysOf(INTENT_COLUMNS, begun as unknown as Row[]));
  if (ended.length > 0) values.push(textArray(ended));
  if (finished.length > 0) {
    const rows = finished.map(({ row }) => row);
    const changes = new SumChanges();
    changes.add(rows);
    const { parts, hours, budgets } = changes.rows(ARRAY_COUNTS);
    values.push(
      ...arraysOf(REQUEST_COLUMNS, rows.map(requestRow)),
      ...arraysOf(NAME_COLUMNS, rows.flatMap(requestNames)),
    );
    values.push(...arraysOf(PART_COLUMNS, parts), ...arraysOf(HOUR_COLUMNS, hours));
    values.push(...arraysOf(BUDGET_TYPES, budgets));
  }
  const parts = {
    folds: folded !== undefined,
    begun: begun.length > 0,
    ended: ended.length > 0,
    finished: finished.length > 0,
  };
  try {
    const { rows } = await runRepeatable(pool, { ...statementOf(parts), values });
    return Number(rows[0]?.turns) > 0;
  } catch (error) {
    if (isUniqueViolation(error) || isDivisionByZero(error)) return false;
    throw error;
  }
}

/** Runs a statement again at once if its connection ended under it, so that requests do not wait for the next try of the recorder. */
async function runRepeatable(pool: Pool, statement: SqlQuery): Promise<QueryResult> {
  try {
    return await runQuery(pool, statement);
  } catch (error) {
    if (!isConnectionLoss(error)) throw error;
    return runQuery(pool, statement);
  }
}

function statementOf(parts: StatementParts): { name: string; text: string } {
  const name = `usage_group_${Object.values(parts).map(Number).join('')}`;
  const known = statements.get(name);
  if (known) return known;
  const statement = { name, text: groupSql(parts) };
  statements.set(name, statement);
  return statement;
}

const TURN = 'turn AS (UPDATE instance SET flush = $2 WHERE id = $1 AND flush < $2 RETURNING id)';
/** Removes groups, which are consecutive, with remainders of earlier ones. */
const FOLD = 'turn AS (DELETE FROM usage_group WHERE instance = $1 AND number <= $2 RETURNING number)';
/** Fails unless all groups were there: nothing of the statement is done then. */
const ALL_TURNS =
  'SELECT 1 / CAST(count(*) = CAST($2 AS bigint) - CAST($3 AS bigint) AS integer) AS turns FROM turn WHERE number > $3';

function groupSql({ folds, begun, ended, finished }: StatementParts): string {
  let parameters = folds ? 3 : 2;
  const condition = folds ? 'true' : 'EXISTS (SELECT FROM turn)';
  const arrays = (columns: Columns): string =>
    columns.map(([, type]) => `CAST($${++parameters} AS ${type === 'bigint' ? type : 'text'}[])`).join(', ');
  const insert = (table: string, columns: Columns, onConflict = '') => {
    const names = columns.map(([name]) => name).join(', ');
    // An array of arrays would be one of all elements.
    const values = columns.map(([name, type]) => (type === 'integer[]' ? `CAST(${name} AS ${type})` : name)).join(', ');
    return `INSERT INTO ${table} (${names}) SELECT ${values} FROM unnest(${arrays(columns)}) AS added (${names})
      WHERE ${condition} ${onConflict}`;
  };
  const steps = [folds ? FOLD : TURN];
  if (begun) steps.push(`begun AS (${insert('inflight', INTENT_COLUMNS)})`);
  if (ended) {
    const ids = `CAST($${++parameters} AS text[])`;
    steps.push(`ended AS (DELETE FROM inflight WHERE id = ANY (${ids}) AND ${condition})`);
  }
  if (finished) {
    steps.push(`requests AS (${insert('usage_request', REQUEST_COLUMNS)})`);
    steps.push(`names AS (${insert('usage_request_name', NAME_COLUMNS, 'ON CONFLICT DO NOTHING')})`);
    steps.push(`parts AS (${insert('usage_part', PART_COLUMNS, saturatingUpsert('usage_part', ARRAY_COUNTS))})`);
    steps.push(`hours AS (${insert('usage_hour', HOUR_COLUMNS, saturatingUpsert('usage_hour', ARRAY_COUNTS))})`);
    steps.push(`budgets AS (${insert('budget', BUDGET_TYPES, saturatingUpsert('budget', ARRAY_COUNTS))})`);
  }
  return `WITH ${steps.join(',\n')} ${folds ? ALL_TURNS : 'SELECT count(*) AS turns FROM turn'}`;
}

/** One array literal for each column: cheaper than a list that the client library turns into one. */
function arraysOf(columns: Columns, rows: readonly Row[]): string[] {
  return columns.map(([name, type]) => {
    const values = rows.map((row) => row[name] ?? null);
    return type !== 'bigint' ? textArray(values) : `{${values.map((value) => value ?? 'NULL').join(',')}}`;
  });
}

function textArray(values: readonly Value[]): string {
  return `{${values.map(textElement).join(',')}}`;
}

function textElement(value: Value): string {
  if (value === null) return 'NULL';
  const text = String(value);
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}
