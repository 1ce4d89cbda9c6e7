/** Searches in video tasks, and their totals, over a bounded number of rows. */

import type { VideoTask } from '../../records/video-task.ts';
import {
  addCreatedBetween,
  findRows,
  hasText,
  type ListTotal,
  SEARCH_DEPTH,
  TOTAL_DEPTH,
  totalOf,
} from '../list-search.ts';
import { type Row, scanning, type Transaction } from '../operation.ts';
import { TASK_COLUMNS, taskOf } from '../video-rows.ts';
import type { VideoPage } from './videos.ts';

export interface FoundVideos {
  tasks: VideoTask[];
  /** Id of the task after which the search goes on; absent if it has seen all. */
  next?: string;
}

type VideoFilter = Omit<VideoPage, 'limit' | 'order' | 'after'> & {
  /** Text of the id, the model, or the beginning of the prompt. */
  search?: string;
};

/** Characters of a prompt that are searched: prompts may be long. */
const SEARCHED_PROMPT = 500;

/** Undefined if the task `after` does not exist; it may be deleted. A page may be empty although a later one is not. */
export const searchVideos = scanning<
  VideoFilter & Pick<VideoPage, 'limit' | 'order' | 'after'> & { depth?: number },
  FoundVideos | undefined
>('state', async (transaction, { limit, order, after, depth = SEARCH_DEPTH, ...filter }) => {
  const start = after === undefined ? undefined : await placeOf(transaction, after, filter.owner);
  if (after !== undefined && !start) return undefined;
  const seen = await readLightRows(transaction, { ...filter, order, depth, ...(start && { start }) });
  const { found, last } = findRows(seen, { limit, depth }, (row) => matches(row, filter));
  return { tasks: await readTasks(transaction, found, order), ...(last && { next: String(last.id) }) };
});

/** Counts matches among the newest tasks. */
export const countVideos = scanning<VideoFilter, ListTotal>('state', async (transaction, filter) =>
  totalOf(await readLightRows(transaction, { ...filter, order: 'desc', depth: TOTAL_DEPTH + 1 }), (row) =>
    matches(row, filter),
  ),
);

function matches(row: Row, { status, model, search }: VideoFilter): boolean {
  if (status !== undefined && row.status !== status) return false;
  if (model !== undefined && row.model !== model) return false;
  return hasText(search, [row.id, row.model, row.prompt]);
}

async function placeOf(transaction: Transaction, id: string, owner: string | undefined): Promise<Row | undefined> {
  const sql = 'SELECT id, owner, created_at FROM video_task WHERE id = :id';
  const [row] = await transaction.all(sql, { id });
  return row && (owner === undefined || row.owner === owner) ? row : undefined;
}

interface LightRows extends Pick<VideoFilter, 'owner' | 'search' | 'from' | 'to'> {
  order: VideoPage['order'];
  depth: number;
  start?: Row;
}

/** Reads rows in the order of an index, without their long columns. */
async function readLightRows(
  transaction: Transaction,
  { owner, search, order, depth, start, ...span }: LightRows,
): Promise<Row[]> {
  const conditions = ['deleted_at IS NULL'];
  const values: Row = { depth };
  if (owner !== undefined) {
    conditions.push('owner = :owner');
    values.owner = owner;
  }
  addCreatedBetween(conditions, values, span);
  if (start) {
    conditions.push(`(created_at, id) ${order === 'asc' ? '>' : '<'} (:createdAt, :after)`);
    values.createdAt = start.created_at ?? null;
    values.after = start.id ?? null;
  }
  const prompt = search === undefined ? '' : `, substr(prompt, 1, ${SEARCHED_PROMPT}) AS prompt`;
  return transaction.all(
    `SELECT id, status, model${prompt} FROM video_task WHERE ${conditions.join(' AND ')}
     ORDER BY created_at ${order}, id ${order} LIMIT :depth`,
    values,
  );
}

async function readTasks(
  transaction: Transaction,
  found: readonly Row[],
  order: VideoPage['order'],
): Promise<VideoTask[]> {
  if (found.length === 0) return [];
  const ids = JSON.stringify(found.map(({ id }) => id));
  const rows = await transaction.all(
    `SELECT ${TASK_COLUMNS} FROM video_task WHERE id IN (${transaction.textsIn('ids')})
     ORDER BY created_at ${order}, id ${order}`,
    { ids },
  );
  return rows.map(taskOf);
}
