/** Webhook deliveries of all owners in pages, by a search that looks at a bounded number of rows. */

import {
  DELIVERY_SELECT,
  type DeliveryOutcome,
  type DeliveryRow,
  type DeliveryState,
  deliveryRows,
} from '../delivery-log-rows.ts';
import {
  addCreatedBetween,
  type CreatedBetween,
  findRows,
  hasText,
  type ListTotal,
  TOTAL_DEPTH,
  totalOf,
} from '../list-search.ts';
import { type Row, reading, scanning, type Transaction } from '../operation.ts';

export interface DeliverySearch extends CreatedBetween {
  limit: number;
  /** Number of rows to look at. */
  depth: number;
  /** Only those after this one, in the order of the list. */
  after?: DeliveryPosition;
  owner?: string;
  state?: DeliveryState;
  /** Host of the URL, with its port if it has one. */
  host?: string;
  /** Outcome of the last attempt. */
  outcome?: DeliveryOutcome;
  /** Text of its id, which begins with that of its task, or of the host. */
  search?: string;
}

export interface DeliveryPosition {
  createdAt: number;
  id: string;
}

export interface FoundDeliveries {
  rows: DeliveryRow[];
  /** Position at which the search continues; absent at the end. */
  next?: DeliveryPosition;
}

const LAST_OUTCOME = 'SELECT outcome FROM delivery_attempt WHERE delivery_id = delivery.id ORDER BY n DESC LIMIT 1';

/** Newest first. */
export const findDeliveries = scanning<DeliverySearch, FoundDeliveries>('state', async (transaction, search) => {
  const seen = await readLightRows(transaction, search);
  const { found, last } = findRows(seen, search, (row) => matches(row, search));
  return {
    rows: found.length === 0 ? [] : await readRows(transaction, found),
    ...(last && { next: { createdAt: Number(last.created_at), id: String(last.id) } }),
  };
});

/** Counts matches among the newest webhooks. */
export const countDeliveries = scanning<Omit<DeliverySearch, 'limit' | 'depth' | 'after'>, ListTotal>(
  'state',
  async (transaction, search) =>
    totalOf(await readLightRows(transaction, { ...search, depth: TOTAL_DEPTH + 1 }), (row) => matches(row, search)),
);

/** Conditions and values of the newest `depth` webhooks of an owner in a span. */
function whereOf(
  depth: number,
  { owner, ...span }: CreatedBetween & { owner?: string },
): { conditions: string[]; values: Row } {
  const conditions = ['TRUE'];
  const values: Row = { depth };
  if (owner !== undefined) {
    conditions.push('owner = :owner');
    values.owner = owner;
  }
  addCreatedBetween(conditions, values, span);
  return { conditions, values };
}

/** Reads rows in the order of an index, without their long columns. */
async function readLightRows(
  transaction: Transaction,
  { depth, after, outcome, ...scope }: Omit<DeliverySearch, 'limit'>,
): Promise<Row[]> {
  const { conditions, values } = whereOf(depth, scope);
  if (after) {
    conditions.push('(created_at, id) < (:createdAt, :after)');
    values.createdAt = after.createdAt;
    values.after = after.id;
  }
  return transaction.all(
    `SELECT id, url, state, created_at${outcome === undefined ? '' : `, (${LAST_OUTCOME}) AS outcome`}
     FROM delivery WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT :depth`,
    values,
  );
}

async function readRows(transaction: Transaction, found: readonly Row[]): Promise<DeliveryRow[]> {
  const ids: Row = Object.fromEntries(found.map(({ id = null }, index) => [`id${index}`, id]));
  const sql = `${DELIVERY_SELECT} WHERE d.id IN (${Object.keys(ids)
    .map((name) => `:${name}`)
    .join(', ')})
    ORDER BY d.created_at DESC, d.id DESC, a.n`;
  return deliveryRows(await transaction.all(sql, ids));
}

function matches(
  row: Row,
  { state, host, outcome, search }: Pick<DeliverySearch, 'state' | 'host' | 'outcome' | 'search'>,
): boolean {
  if (state !== undefined && row.state !== state) return false;
  if (outcome !== undefined && row.outcome !== outcome) return false;
  if (host === undefined && search === undefined) return true;
  const { host: own } = new URL(String(row.url));
  return (host === undefined || own === host) && hasText(search, [row.id, own]);
}

/** The bytes that are sent; undefined once they are erased. */
export const readDeliveryBody = reading<{ taskId: string }, { id: string; body: Uint8Array } | undefined>(
  'state',
  async (transaction, values) => {
    const [row] = await transaction.all('SELECT id, body FROM delivery WHERE task_id = :taskId', values);
    return row?.body instanceof Uint8Array ? { id: String(row.id), body: row.body } : undefined;
  },
);

/** Counts of how the newest webhooks to a host ended. */
export interface ReceiverFigures {
  /** Host, with its port if it has one. */
  host: string;
  delivered: number;
  pending: number;
  exhausted: number;
  /** Time at which the newest delivered one was settled. */
  lastDeliveredAt?: number;
  /** Time of the oldest webhook with a failed attempt since the last delivered one. */
  failingSince?: number;
}

/** Figures of all receivers among the newest webhooks of a span, the busiest first. */
export const receiverFigures = scanning<
  CreatedBetween & { owner?: string; depth: number },
  { receivers: ReceiverFigures[]; isComplete: boolean }
>('state', async (transaction, { depth, ...scope }) => {
  const { conditions, values } = whereOf(depth, scope);
  const rows = await transaction.all(
    `SELECT url, state, attempts, created_at, settled_at FROM delivery WHERE ${conditions.join(' AND ')}
     ORDER BY created_at DESC, id DESC LIMIT :depth`,
    values,
  );
  const receivers = new Map<string, ReceiverFigures>();
  for (const row of rows) {
    const { host } = new URL(String(row.url));
    const figures = receivers.get(host) ?? { host, delivered: 0, pending: 0, exhausted: 0 };
    receivers.set(host, figures);
    figures[row.state as DeliveryState] += 1;
    if (row.state === 'delivered') figures.lastDeliveredAt ??= Number(row.settled_at);
    else if (figures.lastDeliveredAt === undefined && Number(row.attempts) > 0) {
      figures.failingSince = Number(row.created_at);
    }
  }
  const total = ({ delivered, pending, exhausted }: ReceiverFigures) => delivered + pending + exhausted;
  return {
    receivers: [...receivers.values()].toSorted((one, other) => total(other) - total(one)),
    isComplete: rows.length < depth,
  };
});
