/** Key settings from command-line options, validated. */

import { parseDuration, parseMoment } from '../config/units.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { defined } from '../core/plain-objects.ts';
import { isRange } from '../net/ip-address.ts';
import { SURFACES } from '../protocols/index.ts';
import { PERIODS, type Period } from '../records/key-settings.ts';
import { KEY_NAME, KEY_NAME_RULE, MAX_KEY_NAME, MAX_OWNER, metadataProblems, tagProblems } from '../records/tags.ts';

export interface KeyOptions {
  expires?: string;
  owner?: string;
  /** Each as `team=search`. */
  tag?: string[];
  metadata?: string[];
  /** Lists are separated by commas. */
  models?: string;
  surfaces?: string;
  readOnly?: boolean;
  storeResponses?: boolean;
  cidrs?: string;
  rpm?: string;
  tpm?: string;
  concurrent?: string;
  /** Each as `day=5.00`. */
  budget?: string[];
}

/** Only the given settings; null removes one. Throws `invalid_request` naming the option. */
export function parseKeySettings(options: KeyOptions): Json {
  const limits = defined({
    requestsPerMinute: parseCount('--rpm', options.rpm),
    tokensPerMinute: parseCount('--tpm', options.tpm),
    concurrentRequests: parseCount('--concurrent', options.concurrent),
  });
  const budgets = Object.fromEntries((options.budget ?? []).map(parseBudget));
  const tags = parseLabels('--tag', options.tag);
  const metadata = parseLabels('--metadata', options.metadata);
  for (const { path, message } of [...tagProblems(tags), ...metadataProblems(metadata)])
    throw new GatewayError('invalid_request', `${path} ${message}.`);
  return defined({
    owner: parseOwner(options.owner),
    tags,
    metadata,
    models: parseList(
      options.models,
      isModelGlob,
      '--models must be globs of models, such as openai/gpt-5-mini or team/*',
    ),
    surfaces: parseList(options.surfaces, isSurface, `--surfaces must be some of ${SURFACES.join(', ')}`),
    readOnly: options.readOnly,
    storeResponses: options.storeResponses,
    cidrs: parseList(options.cidrs, isRange, '--cidrs must be address ranges such as 10.0.0.0/8 or fd00::/8'),
    limits: Object.keys(limits).length > 0 ? limits : undefined,
    budgets: Object.keys(budgets).length > 0 ? budgets : undefined,
  });
}

/** Throws `invalid_request`. */
export function assertKeyName(name: string | undefined): void {
  const isAllowed = name === undefined || (name.length <= MAX_KEY_NAME && KEY_NAME.test(name));
  if (!isAllowed) throw new GatewayError('invalid_request', `--name ${KEY_NAME_RULE}.`);
}

function parseList(
  text: string | undefined,
  allowed: (item: string) => boolean,
  problem: string,
): string[] | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'all') return null;
  const items = text.split(',').flatMap((item) => item.trim() || []);
  if (items.length > 0 && items.every(allowed)) return items;
  throw new GatewayError('invalid_request', `${problem}, with commas in between, or all.`);
}

function parseOwner(text: string | undefined): string | null | undefined {
  if (text === 'none') return null;
  if (text === undefined || (text !== '' && text.length <= MAX_OWNER)) return text;
  throw new GatewayError('invalid_request', `--owner must have 1 to ${MAX_OWNER} characters, or be none.`);
}

/** Labels by name; null removes a label. Throws `invalid_request`. */
function parseLabels(option: string, texts: string[] | undefined): Record<string, string | null> | undefined {
  if (texts === undefined) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const end = text.indexOf('=');
      if (end > 0) return [text.slice(0, end), text.slice(end + 1) || null];
      throw new GatewayError('invalid_request', `${option} must be name=value, or name= to remove it.`);
    }),
  );
}

/** Unix milliseconds. */
export function parseExpiry(text: string): number {
  const duration = parseDuration(text);
  const moment = duration === undefined ? parseMoment(text) : systemClock.now() + duration;
  if (moment !== undefined && moment > systemClock.now()) return moment;
  throw new GatewayError(
    'invalid_request',
    '--expires must be a future ISO date such as 2027-01-31, or a duration such as 30d or 12h.',
  );
}

/** Milliseconds. */
export function parseDurationOption(option: string, text: string): number {
  const duration = text === '0' ? 0 : parseDuration(text);
  if (duration !== undefined) return duration;
  throw new GatewayError('invalid_request', `${option} must be a duration such as 30m, 24h or 7d, or 0 for at once.`);
}

/** A glob with neither meets no model, because the names of all have a provider before a slash. */
function isModelGlob(text: string): boolean {
  return text.includes('/') || text.includes('*');
}

function isSurface(text: string): boolean {
  return SURFACES.some((surface) => surface === text);
}

function parseCount(option: string, text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'none') return null;
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text);
  throw new GatewayError('invalid_request', `${option} must be a whole number of at least 1, or none.`);
}

function parseBudget(text: string): [Period, string | null] {
  const [, name, amount] = /^(\w+)=(\d{1,6}(?:\.\d{1,12})?|none)$/.exec(text) ?? [];
  const period = PERIODS.find((one) => one === name);
  if (period && amount !== undefined) return [period, amount === 'none' ? null : amount];
  throw new GatewayError(
    'invalid_request',
    `--budget must be USD in ${PERIODS.join(', ')}, such as day=5.00, or none.`,
  );
}
