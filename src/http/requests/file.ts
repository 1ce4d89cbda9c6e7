/** Requests as a file of comma-separated values: all that a filter leaves, sent page by page as the client reads. */

import { Readable } from 'node:stream';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { encodeCsv } from '../../usage/csv.ts';
import { TextBody } from '../http-response.ts';

interface RowPage {
  rows: Json[];
  /** Cursor of the next page. */
  next: string | undefined;
}

/** Each is read by the store in turn with lists of others. */
const MAX_FILES_AT_ONCE = 4;
/** Files that this process is sending. */
let sending = 0;

/** `readPage` gives the page after a cursor, the newest requests first. Throws `rate_limit_exceeded`. */
export async function requestFile(
  columns: readonly string[],
  readPage: (after: string | undefined) => Promise<RowPage>,
): Promise<TextBody> {
  if (sending >= MAX_FILES_AT_ONCE) {
    throw new GatewayError('rate_limit_exceeded', 'Several files of requests are being sent; try again shortly.', {
      retryAfter: 5,
    });
  }
  // What is wrong with the question is an error response, not a file that breaks off.
  const first = await readPage(undefined);
  const file = Readable.from(linesOf(columns, first, readPage));
  sending += 1;
  file.once('close', () => {
    sending -= 1;
  });
  return new TextBody(file, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="requests.csv"',
    'x-content-type-options': 'nosniff',
  });
}

async function* linesOf(
  columns: readonly string[],
  first: RowPage,
  readPage: (after: string | undefined) => Promise<RowPage>,
): AsyncGenerator<string> {
  const head = encodeCsv(columns, []);
  yield head;
  for (let page = first; ; page = await readPage(page.next)) {
    // Also nothing: a search for what is rare ends here once its client is gone.
    yield encodeCsv(columns, page.rows.map(flat)).slice(head.length);
    if (page.next === undefined) return;
  }
}

/** Tags as `name=value`, names of fields with spaces in between. */
function flat({ tags, dropped, ...row }: Json): Json {
  const labels = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  return { ...row, tags: labels.join(' '), dropped: dropped.join(' ') };
}
