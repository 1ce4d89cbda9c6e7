/** Screen of `polygate top`: its content as lines of text, and its reaction to keys. */

import type { StoredAttempt } from '../../routing/stored-trace.ts';
import { formatTable } from '../table.ts';
import { RUNNING, type TopRequest, type TopView } from './view.ts';

export interface ScreenState {
  /** Position in the list of those requests that the filter leaves. */
  selected: number;
  /** Whether the selected request is opened. */
  isOpen: boolean;
  /** Text that a line must contain. */
  filter: string;
  isTyping: boolean;
  isOver: boolean;
}

export interface ScreenSize {
  columns: number;
  rows: number;
}

export const FIRST_STATE: ScreenState = { selected: 0, isOpen: false, filter: '', isTyping: false, isOver: false };

const CTRL_C = '\x03';
const ESCAPE = '\x1b';
const ENTER = ['\r', '\n'];
const BACKSPACE = ['\x7f', '\b'];
const [UP, DOWN] = ['\x1b[A', '\x1b[B'];
const MAX_FILTER_CHARACTERS = 100;
const MAX_ENDPOINTS = 8;
const ENDPOINT_HEADINGS = ['ENDPOINT', 'REQUESTS', 'FAILED', 'FIRST BYTE', 'WHOLE', 'STATE'];
const REQUEST_HEADINGS = [' ', 'TIME', 'KEY', 'MODEL', 'STATE', 'TOKENS', 'COST', 'FIRST / WHOLE'];
const ATTEMPT_HEADINGS = ['', 'ENDPOINT', 'BEGAN', 'FIRST BYTE', 'TOOK', 'OUTCOME'];

export function press(state: ScreenState, key: string, { requests }: TopView): ScreenState {
  if (key === CTRL_C) return { ...state, isOver: true };
  if (state.isTyping) return type(state, key);
  const last = Math.max(0, filtered(requests, state.filter).length - 1);
  const select = (selected: number): ScreenState => ({ ...state, selected: Math.min(last, Math.max(0, selected)) });
  if (key === 'q') return { ...state, isOver: true };
  if (key === 'j' || key === DOWN) return select(state.selected + 1);
  if (key === 'k' || key === UP) return select(state.selected - 1);
  if (ENTER.includes(key)) return { ...state, isOpen: !state.isOpen };
  if (key === ESCAPE) return state.isOpen ? { ...state, isOpen: false } : { ...state, filter: '', selected: 0 };
  if (key === '/') return { ...state, isTyping: true, isOpen: false };
  return state;
}

function type(state: ScreenState, key: string): ScreenState {
  if (ENTER.includes(key)) return { ...state, isTyping: false };
  if (key === ESCAPE) return { ...state, isTyping: false, filter: '' };
  const filter = BACKSPACE.includes(key) ? state.filter.slice(0, -1) : state.filter + visible(key, '');
  return { ...state, filter: filter.slice(0, MAX_FILTER_CHARACTERS), selected: 0 };
}

/** Lines that fit the terminal. */
export function drawScreen(view: TopView, state: ScreenState, { columns, rows }: ScreenSize): string[] {
  const found = filtered(view.requests, state.filter);
  const selected = Math.min(state.selected, Math.max(0, found.length - 1));
  const opened = state.isOpen ? found[selected] : undefined;
  const head = [headline(view), '', ...endpointLines(view), ''];
  const foot = ['', footer(state)];
  const room = Math.max(1, rows - head.length - foot.length);
  const body = opened ? openedLines(opened) : listLines(found, selected, room);
  return [...head, ...body.slice(0, room), ...foot].map((line) => visible(line).slice(0, columns)).slice(0, rows);
}

function headline(view: TopView): string {
  const { running, perMinute, hourlyCost, unknownCosts, failedShare, partial, interrupted, firstByte, total } = view;
  const parts = [
    `in flight ${running}`,
    `${perMinute.toFixed(1)} requests/min`,
    `${dollars(hourlyCost)}/h${unknownCosts > 0 ? `, of ${unknownCosts} unknown` : ''}`,
    `first byte p50 ${milliseconds(firstByte.p50)}, p95 ${milliseconds(firstByte.p95)}`,
    `whole p50 ${milliseconds(total.p50)}, p95 ${milliseconds(total.p95)}`,
    `failed ${(failedShare * 100).toFixed(1)} %`,
    ...(partial > 0 ? [`partial ${partial}`] : []),
    ...(interrupted > 0 ? [`interrupted ${interrupted}`] : []),
  ];
  return parts.join('   ');
}

function endpointLines({ endpoints }: TopView): string[] {
  const rows = endpoints
    .slice(0, MAX_ENDPOINTS)
    .map(({ endpoint, requests, failed, firstByte, total, cooldown }) => [
      endpoint,
      String(requests),
      String(failed),
      milliseconds(firstByte),
      milliseconds(total),
      cooldown === null ? '' : `cooldown ${Math.ceil(cooldown / 1000)} s`,
    ]);
  return tableLines(ENDPOINT_HEADINGS, rows);
}

function listLines(found: readonly TopRequest[], selected: number, room: number): string[] {
  const most = Math.max(1, room - 1);
  const first = Math.max(0, Math.min(selected - Math.floor(most / 2), found.length - most));
  const rows = found
    .slice(first, first + most)
    .map((request, index) => [first + index === selected ? '>' : ' ', ...cells(request)]);
  return tableLines(REQUEST_HEADINGS, rows);
}

function openedLines(request: TopRequest): string[] {
  const { id, requested, protocols, dropped, toolFailures, attempts } = request;
  const facts = [
    `asked for ${requested}`,
    protocols,
    ...(dropped.length > 0 ? [`dropped: ${dropped.join(', ')}`] : []),
    ...(toolFailures > 0 ? [`tools that failed: ${toolFailures}`] : []),
  ];
  return [
    `${id}  ${cells(request).join('  ')}`,
    facts.join(', '),
    '',
    ...(attempts ? tableLines(ATTEMPT_HEADINGS, attempts.map(attemptCells)) : ['Its trace is not kept (usage.trace).']),
  ];
}

function attemptCells(attempt: StoredAttempt, index: number): string[] {
  const { endpoint, started_ms: began, first_byte_ms: first, total_ms: took, status, error } = attempt;
  const known = [status, error].filter((part) => part !== null).join(' ');
  const outcome =
    attempt.cooldown_ms === null ? known : `${known}, cooldown ${Math.ceil(attempt.cooldown_ms / 1000)} s`;
  return [`${index + 1}`, endpoint, milliseconds(began), milliseconds(first), milliseconds(took), outcome];
}

function cells({ time, key, model, state, tokens, cost, firstByte, total }: TopRequest): string[] {
  const clock = new Date(time).toISOString().slice(11, 19);
  return [
    clock,
    key,
    model,
    state,
    tokens,
    state === RUNNING ? '-' : dollars(cost),
    `${milliseconds(firstByte)} / ${milliseconds(total)}`,
  ];
}

function filtered(requests: readonly TopRequest[], filter: string): readonly TopRequest[] {
  const text = filter.toLowerCase();
  if (text === '') return requests;
  return requests.filter((request) => `${request.id} ${cells(request).join(' ')}`.toLowerCase().includes(text));
}

function footer({ isTyping, filter, isOpen }: ScreenState): string {
  if (isTyping) return `/${filter}_   enter: keep   esc: without`;
  const shown = filter === '' ? '' : `filter: ${filter}   `;
  return `${shown}j k: choose   enter: ${isOpen ? 'close' : 'open'}   /: filter   q: end`;
}

function tableLines(headings: string[], rows: string[][]): string[] {
  return formatTable(headings, rows, true).trimEnd().split('\n');
}

/** Formats a cost in USD; null is an unknown cost. */
function dollars(cost: string | null): string {
  return cost === null ? 'unknown' : `$${cost}`;
}

function milliseconds(value: number | null): string {
  return value === null ? '-' : `${Math.round(value)} ms`;
}

/** Texts of clients have no control characters left that a terminal would obey. */
function visible(text: string, instead = '?'): string {
  return text.replace(/\p{Cc}/gu, instead);
}
