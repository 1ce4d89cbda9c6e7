/** Subjects of limits and budgets: the key, its tags, and its models with their own limits. */

import { matchesGlob } from '../core/glob.ts';
import type { Allotment, Budgets, KeySettings, Limits, SharedAllotments } from '../records/key-settings.ts';
import { tagList, tagSubject } from '../records/tags.ts';

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

/** The key, followed by those of its tags that have an allotment. */
export function ownSubjects(key: LimitedKey, shared: SharedAllotments): LimitSubject[] {
  const subjects = [keySubject(key, shared)];
  for (const tag of allottedTags(key, shared)) subjects.push(subjectOfTag(tag, shared.tags.get(tag) as Allotment));
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
