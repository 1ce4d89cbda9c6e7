/** Effective configuration as a list: every setting with its value, secrets masked, and where it comes from. */

import { isObject, type Json } from '../core/json/json.ts';
import { Secret } from '../security/secret.ts';
import { describeSettings, printable } from './mask.ts';
import type { Config } from './resolved.ts';
import { pathText, type SettingPath, type ValueSource } from './value-source.ts';

export interface EffectiveSetting {
  /** Path as in `keys[0].name`. */
  path: string;
  /** A scalar, or a list of them. */
  value: Json;
  source: ValueSource;
}

export interface ChangedSetting {
  path: string;
  /** Null where there was none. */
  before: Json;
  now: Json;
}

/** A configuration may have thousands of keys. */
const MAX_SETTINGS = 10_000;

/** Settings with their sources and masked secrets; `isComplete` is false if some are left out. */
export function effectiveSettings(config: Config): { settings: EffectiveSetting[]; isComplete: boolean } {
  const leaves = leavesOf(describeSettings(config));
  const settings = leaves.slice(0, MAX_SETTINGS).map(({ path, value }) => ({
    path: pathText(path),
    value: printable(value),
    source: config.sourceOf(path),
  }));
  return { settings, isComplete: leaves.length <= MAX_SETTINGS };
}

/** Settings that differ, those of which only the secret differs included. */
export function changedSettings(before: Config, now: Config): ChangedSetting[] {
  const [old, fresh] = [before, now].map(
    (config) => new Map(leavesOf(describeSettings(config)).map(({ path, value }) => [pathText(path), value])),
  ) as [Map<string, Json>, Map<string, Json>];
  const paths = [...new Set([...old.keys(), ...fresh.keys()])];
  return paths
    .filter((path) => revealed(old.get(path)) !== revealed(fresh.get(path)))
    .slice(0, MAX_SETTINGS)
    .map((path) => ({ path, before: shown(old, path), now: shown(fresh, path) }));
}

function shown(leaves: ReadonlyMap<string, Json>, path: string): Json {
  return leaves.has(path) ? printable(leaves.get(path)) : null;
}

/** Text of a value with its secrets, for comparison only. */
function revealed(value: Json): string | undefined {
  if (value instanceof Secret) return `secret ${value.reveal()}`;
  return JSON.stringify(Array.isArray(value) ? value.map(revealed) : value);
}

interface Leaf {
  path: SettingPath;
  value: Json;
}

function leavesOf(value: Json, path: SettingPath = []): Leaf[] {
  if (value === undefined || value === null) return [];
  const isList = Array.isArray(value) && value.every((item) => typeof item !== 'object' || item instanceof Secret);
  if (isList || typeof value !== 'object' || value instanceof Secret) return [{ path, value }];
  const entries: [string | number, Json][] = Array.isArray(value)
    ? [...value.entries()]
    : isObject(value)
      ? Object.entries(value)
      : [];
  return entries.flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}
