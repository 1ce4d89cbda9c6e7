/** Lists as files of comma-separated values: all rows that a filter leaves, sent page by page as the client reads. */

import { Readable } from 'node:stream';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { encodeCsv } from '../usage/csv.ts';
import { TextBody } from './http-response.ts';
import { readFormat } from './use.ts';

interface RowPage {
  rows: Json[];
  /** Cursor of the next page. */
  next: string | undefined;
}

interface FileFacts {
  /** Name without its ending. */
  name: string;
  /** Members of a row; those of an object within are named `outer.inner`. */
  columns: readonly string[];
}

/** Each is read by the store in turn with lists of others. */
const MAX_FILES_AT_ONCE = 4;
const RETRY_AFTER_MS = 5000;
/** Rows read at once: the largest page of a list. */
const PAGE_ROWS = 100;
/** Parameters that cut a list into pages. */
const PAGING = ['limit', 'after', 'offset', 'order'];
const PERIODS = ['day', 'week', 'month', 'total'];
const LIMITS = named('limits', ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests']);

/** Columns of the lists, which are members of their rows as the API has them. */
const LISTS = {
  keys: [
    ...'hash label name state origin owner tags metadata models surfaces read_only cidrs'.split(' '),
    ...LIMITS,
    ...named('budgets', PERIODS),
    ...named('held', PERIODS),
    ...LIMITS.map((path) => `effective.${path}.limit`),
    ...PERIODS.flatMap((period) => named(`effective.budgets.${period}`, ['limit', 'left'])),
    ...named('spent', PERIODS),
    ...'usage usage_daily usage_weekly usage_monthly'.split(' '),
    ...'created_at updated_at expires_at last_used_at revoked_at previous_until'.split(' '),
    ...named('spent_estimated', PERIODS),
    ...named('spent_videos', PERIODS),
    ...named('unpriced_tokens', PERIODS),
    'secret_last_used_at',
  ],
  tags: [
    ...'tag keys origin'.split(' '),
    ...named('spent', PERIODS),
    ...LIMITS,
    ...PERIODS.flatMap((period) => named(`budgets.${period}`, ['limit', 'held', 'left'])),
    ...named('spent_estimated', PERIODS),
    ...named('spent_videos', PERIODS),
    ...named('unpriced_tokens', PERIODS),
    'updated_at',
  ],
  videos: [
    ...'id status model prompt key key_name seconds size resolution aspect_ratio seed'.split(' '),
    ...named('usage', ['video_seconds', 'video_cost']),
    ...'created_at updated_at completed_at expires_at error error_code metadata'.split(' '),
  ],
  audit: 'id at actor action subject request_id'.split(' '),
  webhooks: [
    ...'id task_id key key_name url state created_at settled_at next_attempt_at attempts.length'.split(' '),
    ...named('last_attempt', ['outcome', 'status', 'ended_at']),
  ],
};

function named(outer: string, members: readonly string[]): string[] {
  return members.map((name) => `${outer}.${name}`);
}

/** Files that this process is sending. */
let sending = 0;

/** `readPage` gives the page after a cursor. Throws `rate_limit_exceeded`. */
export async function listFile(
  { name, columns }: FileFacts,
  readPage: (after: string | undefined) => Promise<RowPage>,
): Promise<TextBody> {
  if (sending >= MAX_FILES_AT_ONCE) {
    const message = `The gateway sends ${MAX_FILES_AT_ONCE} files of lists at once, and as many are being sent.`;
    throw new GatewayError('rate_limit_exceeded', message, { retryAfter: RETRY_AFTER_MS });
  }
  // An invalid query is an error response, not a file that breaks off.
  const first = await readPage(undefined);
  const file = Readable.from(linesOf(columns, first, readPage));
  sending += 1;
  file.once('close', () => {
    sending -= 1;
  });
  return new TextBody(file, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.csv"`,
    'x-content-type-options': 'nosniff',
  });
}

/** Returns the page of `list`, or all rows as a file with `format=csv`. */
export function listOrFile(...asked: Parameters<typeof fileOfList>): Promise<Json | TextBody> {
  const [, query, list] = asked;
  return readFormat(query) === 'csv' ? fileOfList(...asked) : list(query);
}

/**
 * All rows of a list that has `limit` and `after`, as `list` answers with them. Throws `invalid_request` for a parameter that
 * cuts it into pages.
 */
export function fileOfList(
  name: keyof typeof LISTS,
  query: URLSearchParams,
  list: (query: URLSearchParams) => Promise<Json>,
): Promise<TextBody> {
  const paging = PAGING.find((one) => query.has(one));
  if (paging !== undefined) {
    throw new GatewayError('invalid_request', `${paging} must not come with format=csv.`, { param: paging });
  }
  return listFile({ name, columns: LISTS[name] }, async (after) => {
    const page = new URLSearchParams(query);
    page.delete('format');
    page.set('limit', String(PAGE_ROWS));
    if (after !== undefined) page.set('after', after);
    const { data, next } = await list(page);
    return { rows: data.map(withLastAttempt), next: next ?? undefined };
  });
}

const withLastAttempt = (row: Json): Json => (row.attempts ? { ...row, last_attempt: row.attempts.at(-1) } : row);

async function* linesOf(
  columns: readonly string[],
  first: RowPage,
  readPage: (after: string | undefined) => Promise<RowPage>,
): AsyncGenerator<string> {
  const head = encodeCsv(columns, []);
  yield head;
  for (let page = first; ; page = await readPage(page.next)) {
    // Empty pages too: a search with few matches ends here once its client is gone.
    yield encodeCsv(
      columns,
      page.rows.map((row) => Object.fromEntries(columns.map((path) => [path, cellOf(row, path)]))),
    ).slice(head.length);
    if (page.next === undefined) return;
  }
}

/** Values of a list have spaces in between; so have the members of an object, as `name=value`. */
function cellOf(row: Json, path: string): string | number | boolean | null | undefined {
  const value = path.split('.').reduce((inner, name) => inner?.[name], row);
  if (Array.isArray(value)) return value.join(' ');
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .map(([name, one]) => `${name}=${one}`)
    .join(' ');
}
