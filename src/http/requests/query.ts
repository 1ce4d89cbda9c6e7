/** Query parameters of lists of requests. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import { moneyOf } from '../../core/money.ts';
import { isTagName } from '../../records/tags.ts';
import type { RequestFilter } from '../../store/operations/requests.ts';
import { intentFilterOf } from '../../usage/open-requests.ts';
import { parseMoment } from '../../usage/report.ts';
import type { RequestSearch } from '../../usage/request-search.ts';
import { flag, readTag, whole } from '../admin/query.ts';
import { FORMAT, type Parameter } from '../openapi/operation.ts';
import { readFormat } from '../use.ts';

const STATUSES = ['completed', 'partial', 'failed', 'cancelled', 'interrupted'];
const MAX_LIMIT = 200;
const PAGE_SIZE = 50;
const MAX_TEXT_CHARACTERS = 300;
const MAX_CURSOR_CHARACTERS = 8000;
const MAX_MS = 1e9;
/** Parameters that a list of requests that run must not have, beside filters that are known at the end of a request. */
const NOT_OF_OPEN = ['from', 'to', 'after', 'live', 'format'];
/** Parameters that a file, which has no pages, must not have. */
const PAGING = ['open', 'live', 'after', 'limit'];
const DECIMAL = /^\d{1,6}(\.\d{1,12})?$/;

/** Texts that a column must equal, by their parameters. */
const TEXTS = {
  model: 'Model that answered, as <provider>/<model>.',
  requested: 'Model as the client named it.',
  provider: 'Id of a provider.',
  protocol: 'Protocol of the client, e.g. chat.',
  code: 'Error code.',
  session: 'Name of a conversation, as requests have it.',
} as const;

const parameter = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });
const text = Type.String({ maxLength: MAX_TEXT_CHARACTERS });

export const FILTER_PARAMETERS: readonly Parameter[] = [
  ...Object.entries(TEXTS).map(([name, description]) => parameter(name, text, description)),
  parameter('status', Type.Unsafe<string>({ type: 'string', enum: STATUSES }), 'How it ended.'),
  parameter('upstream_protocol', text, 'Protocol in which the endpoint was asked.'),
  parameter('tag', text, 'Tag that the key had, e.g. team=search.'),
  parameter('without_tag', text, 'Name of a tag that the key did not have, e.g. team.'),
  parameter('cost_above', Type.String(), 'USD that it cost more than.'),
  parameter('slower_than', Type.Integer({ minimum: 0 }), 'Milliseconds that it took more than.'),
  parameter('dropped', Type.Boolean(), 'Those that lost fields in a translation.'),
  parameter('fell_back', Type.Boolean(), 'Those with more than one attempt.'),
  parameter('estimated', Type.Boolean(), 'Those whose tokens are an estimate of the gateway.'),
];

const SPAN_PARAMETERS: readonly Parameter[] = [
  parameter('from', Type.String(), 'ISO time from which on they ended.'),
  parameter('to', Type.String(), 'ISO time before which they ended.'),
];

const OPEN_WORDS =
  'Those that run. Of the other parameters only limit and the filters that are known of them may come with it: key, model, requested, provider, protocol, upstream_protocol and tag.';

const BEGIN_PARAMETERS: readonly Parameter[] = [
  parameter('started_from', Type.String(), 'ISO time from which on they began. Sums of usage count requests by this.'),
  parameter('started_to', Type.String(), 'ISO time before which they began.'),
];

export const LIST_PARAMETERS: readonly Parameter[] = [
  ...FILTER_PARAMETERS,
  ...BEGIN_PARAMETERS,
  ...SPAN_PARAMETERS,
  parameter('limit', Type.Integer({ minimum: 1, maximum: MAX_LIMIT }), 'Requests on a page.'),
  parameter('after', Type.String(), 'Cursor `next` of the page before.'),
  parameter(
    'live',
    Type.String(),
    'Cursor `live` of an earlier response: what ended since, each request once. A response with `limit` requests may not be the last.',
  ),
  FORMAT,
  parameter('open', Type.Boolean(), OPEN_WORDS),
];

export const SUMMARY_PARAMETERS: readonly Parameter[] = [...FILTER_PARAMETERS, ...BEGIN_PARAMETERS, ...SPAN_PARAMETERS];

export const SESSION_PARAMETERS: readonly Parameter[] = [
  ...SUMMARY_PARAMETERS,
  parameter('after', Type.String(), 'Cursor `next` of the response before: sums of the requests that ended earlier.'),
  FORMAT,
];

export interface ListQuery extends RequestSearch {
  live?: string | undefined;
  open: boolean;
  isFile: boolean;
}

/** Throws `invalid_request` that names the parameter. `keyId` is that of the caller, or the one asked for. */
export function readListQuery(query: URLSearchParams, keyId: string | undefined): ListQuery {
  const [after, live] = [readAfter(query), cursor(query, 'live')];
  if (after !== undefined && live !== undefined) throw invalid('live', 'must not come with after');
  const open = flag(query, 'open');
  const filter = readFilter(query, keyId);
  if (open) refuseBesideOpen(query, filter);
  return {
    filter,
    ...readSpan(query),
    isFile: readIsFile(query),
    limit: whole(query, 'limit', { least: 1, most: MAX_LIMIT, byDefault: PAGE_SIZE }),
    after,
    live,
    open,
  };
}

function refuseBesideOpen(query: URLSearchParams, filter: RequestFilter): void {
  const other = NOT_OF_OPEN.find((name) => query.has(name));
  if (other !== undefined) throw invalid(other, 'must not come with open=true');
  const [unknown] = intentFilterOf(filter).others;
  if (unknown === undefined) return;
  throw invalid(parameterOf(unknown), 'must not come with open=true: it is known at the end of a request only');
}

/** Throws for parameters of pages, which a file does not have. */
export function readIsFile(query: URLSearchParams): boolean {
  if (readFormat(query) !== 'csv') return false;
  const paging = PAGING.find((name) => query.has(name));
  if (paging !== undefined) throw invalid(paging, 'must not come with format=csv');
  return true;
}

/** Span in Unix milliseconds; `to` is exclusive. Throws `invalid_request`. */
export function readSpan(query: URLSearchParams): Pick<RequestSearch, 'from' | 'to'> {
  const [from, to] = [query.get('from'), query.get('to')];
  const span = {
    from: from === null ? 0 : parseMoment('from', from),
    to: to === null ? Number.MAX_SAFE_INTEGER : parseMoment('to', to),
  };
  if (span.from >= span.to) throw invalid('from', 'must be before to');
  return span;
}

/** Filter of a list of requests; `keyId` limits it to one key. Throws `invalid_request`. */
export function readFilter(query: URLSearchParams, keyId: string | undefined): RequestFilter {
  const texts = Object.keys(TEXTS).flatMap((name) => {
    const value = readText(query, name);
    return value === undefined ? [] : [[name, value]];
  });
  const status = query.get('status');
  if (status !== null && !STATUSES.includes(status)) throw invalid('status', `must be one of ${STATUSES.join(', ')}`);
  const upstreamProtocol = readText(query, 'upstream_protocol');
  const tag = readTag(query);
  const withoutTag = readText(query, 'without_tag');
  if (withoutTag !== undefined && !isTagName(withoutTag)) throw invalid('without_tag', 'must be the name of a tag');
  const cost = query.get('cost_above');
  if (cost !== null && !DECIMAL.test(cost)) throw invalid('cost_above', 'must be USD such as 0.05');
  const slowerThan = whole(query, 'slower_than', { least: 0, most: MAX_MS, byDefault: undefined });
  return {
    ...Object.fromEntries(texts),
    ...(keyId !== undefined && { keyId }),
    ...(status !== null && { status }),
    ...(upstreamProtocol !== undefined && { upstreamProtocol }),
    ...(tag && { tag: tag.join('=') }),
    ...(withoutTag !== undefined && { withoutTag }),
    ...(cost !== null && { costAbove: moneyOf(cost) }),
    ...(slowerThan !== undefined && { slowerThan }),
    ...(flag(query, 'dropped') && { hasDropped: true }),
    ...(flag(query, 'fell_back') && { fellBack: true }),
    ...(flag(query, 'estimated') && { isEstimated: true }),
    ...readBegin(query),
  };
}

/** Filters that no parameter asks for. */
type Inner = 'hasFailed';
type SameName = keyof typeof TEXTS | 'status' | 'tag';

function readBegin(query: URLSearchParams): Pick<RequestFilter, 'startedFrom' | 'startedTo'> {
  const [from, to] = [query.get('started_from'), query.get('started_to')];
  const begin = {
    ...(from !== null && { startedFrom: parseMoment('started_from', from) }),
    ...(to !== null && { startedTo: parseMoment('started_to', to) }),
  };
  const { startedFrom = Number.MIN_SAFE_INTEGER, startedTo = Number.MAX_SAFE_INTEGER } = begin;
  if (startedFrom >= startedTo) throw invalid('started_from', 'must be before started_to');
  return begin;
}

/** Parameters whose name is not that of their filter. */
const PARAMETER_NAMES: Record<Exclude<keyof RequestFilter, Inner | SameName>, string> = {
  keyId: 'key',
  upstreamProtocol: 'upstream_protocol',
  withoutTag: 'without_tag',
  costAbove: 'cost_above',
  slowerThan: 'slower_than',
  hasDropped: 'dropped',
  fellBack: 'fell_back',
  isEstimated: 'estimated',
  startedFrom: 'started_from',
  startedTo: 'started_to',
};

/** Query parameter of a filter. */
export function parameterOf(name: keyof RequestFilter): string {
  return (PARAMETER_NAMES as Partial<Record<keyof RequestFilter, string>>)[name] ?? name;
}

/** Throws for text that no record has and PostgreSQL cannot compare. */
export function readText(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (value !== '' && value.length <= MAX_TEXT_CHARACTERS && !value.includes('\0')) return value;
  throw invalid(name, `must have 1 to ${MAX_TEXT_CHARACTERS} characters, none of them NUL`);
}

/** Cursor of the page before. */
export function readAfter(query: URLSearchParams): string | undefined {
  return cursor(query, 'after');
}

function cursor(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name);
  if (value === null || value.length <= MAX_CURSOR_CHARACTERS) return value ?? undefined;
  throw invalid(name, 'must be a cursor of an earlier response');
}

function invalid(param: string, words: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${words}.`, { param });
}
