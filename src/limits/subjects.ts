/** Subjects of limits and budgets: the key, its tags, and its models with their own limits; and the errors of requests beyond them. */

import { GatewayError } from '../core/errors.ts';
import { matchesGlob } from '../core/glob.ts';
import { decimalOf, maxBigInt } from '../core/money.ts';
import {
  type Allotment,
  type Budgets,
  type KeySettings,
  type Limits,
  type Period,
  periodEnd,
  type SharedAllotments,
} from '../records/key-settings.ts';
import { tagList, tagSubject } from '../records/tags.ts';
import type { MinuteKind, WindowState } from './minute-window.ts';

/** A key as limits see it. */
export interface LimitedKey {
  id: string;
  settings: KeySettings;
}

export interface LimitSubject {
  name: string;
  /** Name in error messages. */
  label: string;
  /** `name=value`; absent for a key and its models. */
  tag?: string;
  limits: Limits;
  budgets: Budgets;
  /** Object in which they stand: another one after a change. */
  basis: object;
}

/** Subject of the key, independent of the model. */
export function keySubject({ id, settings }: LimitedKey, { keyDefaults }: SharedAllotments): LimitSubject {
  return {
    name: id,
    label: 'This key',
    limits: { ...keyDefaults.limits, ...settings.limits },
    budgets: { ...keyDefaults.budgets, ...settings.budgets },
    basis: settings,
  };
}

interface KnownSubjects {
  id: string;
  shared: SharedAllotments;
  subjects: readonly LimitSubject[];
}

/** Subjects by the settings of their key: another object after a change. */
const knownSubjects = new WeakMap<KeySettings, KnownSubjects>();

/** The key, followed by those of its tags that have an allotment. */
export function ownSubjects(key: LimitedKey, shared: SharedAllotments): readonly LimitSubject[] {
  const known = knownSubjects.get(key.settings);
  if (known?.shared === shared && known.id === key.id) return known.subjects;
  const subjects = [keySubject(key, shared)];
  for (const tag of allottedTags(key, shared)) subjects.push(subjectOfTag(tag, shared.tags.get(tag) as Allotment));
  knownSubjects.set(key.settings, { id: key.id, shared, subjects });
  return subjects;
}

/** Subject of all keys with a tag; `tag`: `name=value`. */
export function subjectOfTag(tag: string, allotment: Allotment): LimitSubject {
  const { limits = {}, budgets = {} } = allotment;
  return { name: tagSubject(tag), label: `Keys with the tag ${tag}`, tag, limits, budgets, basis: allotment };
}

/** The key with a model, if it has limits for that. */
export function modelSubjects({ id, settings }: LimitedKey, model: string): LimitSubject[] {
  const ofModel = Object.entries(settings.modelLimits ?? {})
    .filter(([glob]) => matchesGlob(glob, model))
    .map(([, limit]) => limit);
  if (ofModel.length === 0) return [];
  const limits = Object.assign({}, ...ofModel);
  return [{ name: `${id} ${model}`, label: `This key with ${model}`, limits, budgets: {}, basis: settings }];
}

/** Whether no limit and no budget applies to the key, for any model. */
export function isUnlimited(key: LimitedKey, shared: SharedAllotments): boolean {
  const { limits, modelLimits, budgets } = key.settings;
  const { keyDefaults } = shared;
  return (
    isEmpty(limits) &&
    isEmpty(modelLimits) &&
    isEmpty(budgets) &&
    isEmpty(keyDefaults.limits) &&
    isEmpty(keyDefaults.budgets) &&
    allottedTags(key, shared).length === 0
  );
}

/** Whether a budget applies to the key: its own, a default, or one of its tags. */
export function hasBudget(key: LimitedKey, shared: SharedAllotments): boolean {
  if (!isEmpty(key.settings.budgets) || !isEmpty(shared.keyDefaults.budgets)) return true;
  return allottedTags(key, shared).some((tag) => !isEmpty(shared.tags.get(tag)?.budgets));
}

const NO_TAGS: readonly string[] = [];

function allottedTags({ settings: { tags } }: LimitedKey, shared: SharedAllotments): readonly string[] {
  if (tags === undefined || shared.tags.size === 0) return NO_TAGS;
  return tagList(tags).filter((tag) => shared.tags.has(tag));
}

function isEmpty(object: object | undefined): boolean {
  for (const name in object) if (Object.hasOwn(object, name)) return false;
  return true;
}

export function minuteLimit(limits: Limits, kind: MinuteKind): number | undefined {
  return kind === 'requests' ? limits.requestsPerMinute : limits.tokensPerMinute;
}

/** Error of a request that does not fit into a limit by the minute. */
export function minuteRefusal(label: string, kind: MinuteKind, { limit, remaining, reset }: WindowState): GatewayError {
  const message = `${label} may use ${limit} ${kind} a minute, of which ${remaining} are left for ${Math.ceil(reset / 1000)} s.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfter: reset });
}

/** Error of a request that does not fit into a budget. Amounts are in 1e-12 USD, `limit` in USD; `moment` is in the period. */
export function budgetRefusal(
  label: string,
  { period, limit, moment }: { period: Period; limit: string; moment: number },
  { left, asked }: { left: bigint; asked: bigint },
): GatewayError {
  const words = period === 'total' ? 'in all' : `a ${period}`;
  const end = periodEnd(period, moment);
  const until = end === undefined ? '' : ` until ${new Date(end).toISOString()}`;
  return new GatewayError(
    'insufficient_quota',
    `${label} may spend ${limit} USD ${words}; ${decimalOf(maxBigInt(0n, left))} USD are left${until}, and this request may cost ${decimalOf(asked)} USD.`,
  );
}
