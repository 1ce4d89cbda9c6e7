/** Lists of the records of requests, in the order in which they ended. */

import { type Row, scanning, type Transaction } from '../operation.ts';
import { findRequest, REQUEST_COLUMNS } from '../request-rows.ts';
import { DAY_HOURS, existingSpan, sumConditions, sumSource, type UsageFilter, wholeDays } from '../sum-source.ts';
import { DAY_TABLES } from '../usage-columns.ts';
import { IS_FAILURE } from '../usage-row.ts';
import { HAS_TAG } from '../usage-rows.ts';

/** Conditions on records; absent ones hold for all. Money is in 1e-12 USD. */
export interface RequestFilter {
  keyId?: string;
  /** `<provider>/<model>` of the endpoint. */
  model?: string;
  /** Model as the client named it. */
  requested?: string;
  provider?: string;
  protocol?: string;
  upstreamProtocol?: string;
  status?: string;
  code?: string;
  costAbove?: bigint;
  /** Milliseconds. */
  slowerThan?: number;
  hasDropped?: boolean;
  fellBack?: boolean;
  hasFailed?: boolean;
  /** `name=value`, of the key when the request began. */
  tag?: string;
  /** Name of a tag that the key did not have. */
  withoutTag?: string;
  /** Whether its tokens are the gateway's estimate. */
  isEstimated?: boolean;
  /** Name that the client gave the conversation. */
  session?: string;
  /** Unix milliseconds between which it began, as sums of use count it; `startedTo` is exclusive. */
  startedFrom?: number;
  startedTo?: number;
}

/** Place in the order: records of the same millisecond by their ids. */
export interface RequestPlace {
  endedAt: number;
  id: string;
}

export interface RequestPiece {
  filter: RequestFilter;
  /** Records before this place, newest first. */
  before: RequestPlace;
  /** Unix milliseconds; the first that is looked at. */
  from: number;
  limit: number;
  /** Records that are looked at. */
  most: number;
}

export interface FoundRequests {
  rows: Row[];
  /** Last record that was looked at; absent if there are no more from `from` on. */
  searchedTo?: RequestPlace;
}

const CONDITIONS: { [Name in keyof Required<RequestFilter>]: string } = {
  keyId: 'key_id = :keyId',
  model: "endpoint_provider || '/' || endpoint_model = :model",
  requested: 'model = :requested',
  provider: 'endpoint_provider = :provider',
  protocol: 'protocol_in = :protocol',
  upstreamProtocol: 'protocol_out = :upstreamProtocol',
  status: 'status = :status',
  code: 'error_code = :code',
  costAbove: 'cost > :costAbove',
  slowerThan: 'total_ms > :slowerThan',
  // Quotes in texts of a trace are escaped.
  hasDropped: `trace LIKE '%"dropped":[%'`,
  fellBack: 'attempts > 1',
  hasFailed: IS_FAILURE,
  tag: HAS_TAG,
  withoutTag: "replace(' ' || tags, ' ' || CAST(:withoutTag AS text) || '=', '') = ' ' || tags",
  isEstimated: 'estimated = 1',
  session: 'substr(trace, 1, length(:session)) = :session',
  startedFrom: 'started_at >= :startedFrom',
  startedTo: 'started_at < :startedTo',
};

const ORDER = 'ORDER BY ended_at DESC, id DESC';
/** Condition of records since a time and before a place in the order. */
const RANGE = 'ended_at >= :from AND (ended_at, id) < (CAST(:endedAt AS bigint), CAST(:id AS text))';

/** One piece of a search, of bounded work. */
export const searchRequests = scanning<RequestPiece, FoundRequests>('usage', async (transaction, piece) => {
  const { filter, before, from, limit, most } = piece;
  const place = { from, endedAt: before.endedAt, id: before.id };
  const { conditions, values } = conditionsOf(filter);
  const [last] =
    conditions.length === 0
      ? []
      : await transaction.all(
          `SELECT ended_at, id FROM usage_request WHERE ${RANGE} ${ORDER} LIMIT 1 OFFSET :skipped`,
          { ...place, skipped: most - 1 },
        );
  // SQLite ends its scan at `from`, not at a pair.
  const oldest = last ? Number(last.ended_at ?? 0) : from;
  const start = last ? 'AND (ended_at, id) >= (CAST(:lastEndedAt AS bigint), CAST(:lastId AS text))' : '';
  const rows = await transaction.all(
    `SELECT ${REQUEST_COLUMNS} FROM usage_request WHERE ${[RANGE, ...conditions].join(' AND ')} ${start} ${ORDER} LIMIT :limit`,
    {
      ...place,
      ...values,
      from: oldest,
      limit,
      ...(last && { lastEndedAt: last.ended_at ?? 0, lastId: last.id ?? '' }),
    },
  );
  const end = rows.length === limit ? rows.at(-1) : last;
  return { rows, ...(end && { searchedTo: { endedAt: Number(end.ended_at), id: String(end.id) } }) };
});

/** Begin of a trace that has a conversation. */
const SESSION_START = '{"s":';
/** Longest begin of a trace up to the end of the name: of 200 characters, each of which may be escaped, in quotes. */
const MAX_SESSION_START = SESSION_START.length + 6 * 200 + 2;
const SESSION_NAME = /"(?:[^"\\]|\\.)*"/y;

/** Names of conversations among the newest `depth` records before a place. */
export const sessionNames = scanning<
  Omit<RequestPiece, 'limit' | 'most'> & { depth: number },
  { names: string[]; isComplete: boolean }
>('usage', async (transaction, { filter, before, from, depth }) => {
  const { conditions, values } = conditionsOf(filter);
  const isNamed = [`substr(trace, 1, ${SESSION_START.length}) = :start`, ...conditions].join(' AND ');
  const rows = await transaction.all(
    `SELECT CASE WHEN ${isNamed} THEN substr(trace, 1, ${MAX_SESSION_START}) END AS trace
       FROM (SELECT * FROM usage_request WHERE ${RANGE} ${ORDER} LIMIT :most) AS seen`,
    { ...values, start: SESSION_START, from, endedAt: before.endedAt, id: before.id, most: depth + 1 },
  );
  const names = rows.slice(0, depth).flatMap(({ trace }) => sessionIn(trace) ?? []);
  return { names: [...new Set(names)], isComplete: rows.length <= depth };
});

function sessionIn(trace: unknown): string | undefined {
  if (trace === null) return undefined;
  SESSION_NAME.lastIndex = SESSION_START.length;
  const [name] = SESSION_NAME.exec(String(trace)) ?? [];
  return name === undefined ? undefined : JSON.parse(name);
}

/** Records that ended since a time, oldest first. */
export const requestsSince = scanning<{ filter: RequestFilter; since: number; limit: number }, Row[]>(
  'usage',
  async (transaction, { filter, since, limit }) => {
    const { conditions, values } = conditionsOf(filter);
    const where = ['ended_at >= :since', ...conditions].join(' AND ');
    const sql = `SELECT ${REQUEST_COLUMNS} FROM usage_request WHERE ${where} ORDER BY ended_at, id LIMIT :limit`;
    return transaction.all(sql, { ...values, since, limit });
  },
);

export interface HourSearch {
  /** Names that their requests have. */
  filter: Pick<UsageFilter, 'keyId' | 'model' | 'provider' | 'tag'>;
  /** Hours since 1970, inclusive. */
  since: number;
  until: number;
}

/** Latest hour in which requests of these names began; undefined if there is none. */
export const latestUsageHour = scanning<HourSearch, number | undefined>('usage', async (transaction, search) => {
  const { filter, since, until } = search;
  const conditions = sumConditions(filter);
  const table = conditions.ofParts ? 'usage_part_day' : 'usage_day';
  const { hours } = DAY_TABLES[table];
  const latestOf = async (from: number, to: number) => {
    const sql = `SELECT hour FROM ${hours} WHERE hour >= :from AND hour <= :to ${conditions.sql} ORDER BY hour DESC LIMIT 1`;
    const [row] = await transaction.all(sql, { ...conditions.values, from, to });
    return row && Number(row.hour);
  };
  const existing = await existingSpan(transaction, { from: since, to: until + 1 });
  // Most names are found in the latest hours; the span may end a day after these.
  const recentFrom = Math.max(since, existing.to - 2 * DAY_HOURS);
  const recent = await latestOf(recentFrom, until);
  if (recent !== undefined || recentFrom <= since) return recent;
  const span = { from: existing.from, to: recentFrom };
  const source = sumSource(transaction, span, wholeDays(span));
  const rows = source.select(table, (hour, count) => `${hour} + ${count - 1} AS last`, conditions.sql);
  const [row] = await transaction.all(`${source.tables} SELECT MAX(last) AS last FROM (${rows}) AS rows`, {
    ...source.values,
    ...conditions.values,
  });
  if (row?.last == null) return undefined;
  // The hour itself, or the last one of a day that has it.
  const last = Number(row.last);
  return latestOf(last - DAY_HOURS + 1, last);
});

/** Record of a request by its id, or by the id of the upstream's answer; of a key, if one is given. */
export const requestRecord = scanning<{ id: string; keyId?: string }, Row | undefined>('usage', (transaction, values) =>
  findRequest(transaction, values),
);

/** Filters that a running request can meet; those on its outcome are not known yet. */
export type IntentFilter = Pick<
  RequestFilter,
  'keyId' | 'model' | 'requested' | 'provider' | 'protocol' | 'upstreamProtocol' | 'tag'
>;

const INTENT_COLUMNS = [
  'key_id',
  'tags',
  'model',
  'endpoint_provider',
  'endpoint_model',
  'protocol_in',
  'protocol_out',
];

/** Intents of requests that run, of all gateways that write them into the store, newest first; or the one of a request. */
export const openIntents = scanning<
  { filter: IntentFilter; limit: number; id?: string },
  { id: string; record: string }[]
>('usage', async (transaction, { filter, limit, id }) => {
  const intents = matchingIntents(transaction, filter, id === undefined ? '' : 'AND id = :id');
  const rows = await transaction.all(
    `SELECT id, record FROM ${intents.sql} ORDER BY started_at DESC, id LIMIT :limit`,
    { ...intents.values, limit, ...(id !== undefined && { id }) },
  );
  return rows.map((row) => ({ id: String(row.id), record: String(row.record) }));
});

/** Number of intents of requests that run, but for those of an instance. */
export const countIntents = scanning<{ filter: IntentFilter; except: string }, number>(
  'usage',
  async (transaction, { filter, except }) => {
    const intents = matchingIntents(transaction, filter, 'AND instance <> :except');
    const [row] = await transaction.all(`SELECT COUNT(*) AS n FROM ${intents.sql}`, { ...intents.values, except });
    return Number(row?.n);
  },
);

function matchingIntents(
  { memberOf }: Pick<Transaction, 'memberOf'>,
  filter: IntentFilter,
  condition: string,
): { sql: string; values: Row } {
  const { conditions, values } = conditionsOf(filter);
  const where = `WHERE ${['1 = 1', ...conditions].join(' AND ')} ${condition}`;
  if (conditions.length === 0) return { sql: `inflight ${where}`, values };
  const columns = INTENT_COLUMNS.map((name) => `${memberOf('record', name)} AS ${name}`).join(', ');
  return { sql: `(SELECT id, instance, started_at, record, ${columns} FROM inflight) AS intents ${where}`, values };
}

function conditionsOf({ costAbove, session, ...filter }: RequestFilter): { conditions: string[]; values: Row } {
  const conditions: string[] = [];
  const values: Row = {};
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined || value === false) continue;
    conditions.push(CONDITIONS[name as keyof RequestFilter]);
    if (value !== true) values[name] = value;
  }
  if (costAbove !== undefined) {
    conditions.push(CONDITIONS.costAbove);
    values.costAbove = costAbove;
  }
  if (session !== undefined) {
    conditions.push(CONDITIONS.session);
    values.session = SESSION_START + JSON.stringify(session);
  }
  return { conditions, values };
}
