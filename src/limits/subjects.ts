/** What the limits of a key are about: the key itself, and each model that has limits of its own. */

import { matchesGlob } from '../keys/glob.ts';
import type { KeySettings, Limits } from '../records/key-settings.ts';

export interface LimitSubject {
  name: string;
  /** For messages. */
  words: string;
  limits: Limits;
}

/** The key itself, whatever it is used for. */
export function keySubject(key: { id: string; settings: KeySettings }, defaults: Limits): LimitSubject {
  return { name: key.id, words: 'This key', limits: { ...defaults, ...key.settings.limits } };
}

/** The key's own subject comes first. */
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
  return [own, { name: `${key.id} ${model}`, words: `This key with ${model}`, limits: Object.assign({}, ...ofModel) }];
}
