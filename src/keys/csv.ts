/** Keys to be made, from comma-separated values: a line of column names, then one line a key. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { defined } from '../core/plain-objects.ts';

export interface KeyLine {
  /** Number of its first line. */
  line: number;
  /** Fields as in the request body that creates a key. */
  fields: Json;
}

interface CsvRecord {
  line: number;
  cells: string[];
}

const TEXTS = { name: 'name', owner: 'owner', expires: 'expires_at' } as const;
const LISTS = ['models', 'surfaces', 'cidrs'] as const;
const COUNTS = { rpm: 'requests_per_minute', tpm: 'tokens_per_minute', concurrent: 'concurrent_requests' } as const;
const GROUPS = { tag: 'tags', metadata: 'metadata', budget: 'budgets' } as const;
const COLUMNS = [...Object.keys(TEXTS), ...LISTS, ...Object.keys(COUNTS), 'tag:<name>', 'metadata:<name>'];

/** Empty lines are passed over, and an empty cell says nothing. Throws `invalid_request`. */
export function keysOfCsv(text: string): KeyLine[] {
  const [head, ...records] = recordsOf(text.replace(/^\uFEFF/, ''));
  if (!head || records.length === 0) throw invalid('csv must have a line of column names, and one for each key');
  const columns = head.cells.map((cell) => columnOf(cell.trim()));
  for (const [index, column] of columns.entries()) {
    if (!isColumn(column))
      throw invalid(
        `csv has the column "${column.slice(0, 100)}"; it may have ${COLUMNS.join(', ')} and budget:<period>`,
      );
    if (columns.indexOf(column) !== index) throw invalid(`csv has the column "${column.slice(0, 100)}" twice`);
  }
  if (!columns.includes('name')) throw invalid('csv must have a column "name"');
  return records.map(({ line, cells }) => {
    if (cells.length > columns.length) throw invalid(`line ${line} must have at most ${columns.length} cells`);
    const entries = columns.map((column, index) => [column, (cells[index] ?? '').trim()] as const);
    return { line, fields: fieldsOf(new Map(entries.filter(([, value]) => value !== ''))) };
  });
}

/** Names of tags and metadata stay as they are. */
function columnOf(text: string): string {
  const [group = '', ...rest] = text.split(':');
  return [group.toLowerCase(), ...rest].join(':');
}

function isColumn(column: string): boolean {
  const [group = '', ...rest] = column.split(':');
  if (rest.length > 0) return Object.hasOwn(GROUPS, group) && rest.join(':') !== '';
  return [...Object.keys(TEXTS), ...LISTS, ...Object.keys(COUNTS)].includes(column);
}

function fieldsOf(cells: ReadonlyMap<string, string>): Json {
  const texts = Object.entries(TEXTS).map(([column, field]) => [field, cells.get(column)]);
  const lists = LISTS.map((column) => [column, cells.get(column)?.split(/[\s,;]+/)]);
  const limits = Object.entries(COUNTS).flatMap(([column, field]) => {
    const cell = cells.get(column);
    // Text that is no number is refused with the name of its field.
    return cell === undefined ? [] : [[field, /^\d{1,12}$/.test(cell) ? Number(cell) : cell]];
  });
  const groups = Object.entries(GROUPS).map(([group, field]) => {
    const own = [...cells].filter(([column]) => column.startsWith(`${group}:`));
    return [
      field,
      own.length === 0 ? undefined : Object.fromEntries(own.map(([column, value]) => [afterColon(column), value])),
    ];
  });
  return defined({
    ...Object.fromEntries([...texts, ...lists, ...groups]),
    limits: limits.length === 0 ? undefined : Object.fromEntries(limits),
  });
}

function afterColon(column: string): string {
  return column.slice(column.indexOf(':') + 1);
}

/** Parses CSV by RFC 4180; a line may also end with LF alone. */
function recordsOf(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let record: CsvRecord = { line: 1, cells: [] };
  let line = 1;
  // A cell in quotes or without, and the text after it.
  const pattern = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  while (pattern.lastIndex < text.length || record.cells.length > 0) {
    const found = pattern.exec(text);
    if (!found) throw invalid(`line ${line} has a quote that is not closed, or text beside quotes`);
    const [whole, quoted, plain = '', end] = found;
    record.cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    if (record.cells.some((cell) => cell.trim() !== '')) records.push(record);
    record = { line, cells: [] };
    if (end === '') break;
  }
  return records;
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', `${message}.`, { param: 'csv' });
}
