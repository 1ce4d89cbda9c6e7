/** Subjects of limits: the key, and its models with their own limits. */

import { matchesGlob } from '../core/glob.ts';
import type { KeySettings, Limits } from '../records/key-settings.ts';

export interface LimitSubject {
  name: string;
  /** Name in error messages. */
  label: string;
  limits: Limits;
}

/** Subject of the key, independent of the model. */
export function keySubject(key: { id: string; settings: KeySettings }, defaults: Limits): LimitSubject {
  return { name: key.id, label: 'This key', limits: { ...defaults, ...key.settings.limits } };
}

/** The subject of the key comes first. */
export function limitSubjects(
  key: { id: string; settings: KeySettings },
  model: string,
  defaults: Limits,
): LimitSubject[] {
  const { modelLimits = {} } = key.settings;
  const own = keySubject(key, defaults);
  const ofModel = Object.entries(modelLimits)
    .filter(([glob]) => matchesGlob(glob, model))
    .map(([, limit]) => limit);
  if (ofModel.length === 0) return [own];
  return [own, { name: `${key.id} ${model}`, label: `This key with ${model}`, limits: Object.assign({}, ...ofModel) }];
}
