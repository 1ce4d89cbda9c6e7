/** Effective configuration as a list: every setting with its value, secrets masked, and where it comes from. */

import type { Json } from '../core/json/json.ts';
import { Secret } from '../security/secret.ts';
import { describeSettings, printable } from './mask.ts';
import type { Config, EndpointEntry } from './resolved.ts';
import { describeRouting } from './routing.ts';
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

interface SettingList {
  settings: readonly EffectiveSetting[];
  /** False if some are left out. */
  isComplete: boolean;
}

/** Lists by configuration: each is worked out once. */
const lists = new WeakMap<Config, SettingList>();
const changes = new WeakMap<Config, { before: Config; changed: readonly ChangedSetting[] }>();

/** Settings with their sources and masked secrets. */
export function effectiveSettings(config: Config): SettingList {
  const known = lists.get(config) ?? listSettings(config);
  lists.set(config, known);
  return known;
}

function listSettings(config: Config): SettingList {
  const settings: EffectiveSetting[] = [];
  for (const leaf of leavesOf(describeSettings(config))) {
    if (settings.length === MAX_SETTINGS) return { settings, isComplete: false };
    settings.push(settingOf(config, leaf));
  }
  return { settings, isComplete: true };
}

/** Settings that add the model with this id, change it, or give it another name. */
export function modelSettings(config: Config, id: string): EffectiveSetting[] {
  const { models, aliases } = config.routing;
  const ownAliases = [...aliases].filter(([, model]) => model === id);
  const ownModels = [id, ...ownAliases.map(([alias]) => alias)].flatMap(
    (name): [string, readonly EndpointEntry[]][] => {
      const endpoints = models.get(name);
      return endpoints ? [[name, endpoints]] : [];
    },
  );
  const routing: Json = describeRouting({
    ...config.routing,
    models: new Map(ownModels),
    aliases: new Map(ownAliases),
  });
  const leaves = leavesOf({ models: routing.models, aliases: routing.aliases });
  return [...listedIds(config, id), ...leaves].map((leaf) => settingOf(config, leaf));
}

/** Ids in the lists of models of providers. */
function listedIds({ providers }: Config, id: string): Leaf[] {
  return providers.flatMap((provider) => {
    if (provider.state !== 'ready' || !Array.isArray(provider.models) || !id.startsWith(`${provider.id}/`)) return [];
    const upstreamId = id.slice(provider.id.length + 1);
    return provider.models.flatMap((model, index) =>
      model.id === upstreamId ? [{ path: ['providers', provider.id, 'models', index, 'id'], value: model.id }] : [],
    );
  });
}

function settingOf(config: Config, { path, value }: Leaf): EffectiveSetting {
  return { path: pathText(path), value: printable(value), source: config.sourceOf(path) };
}

/** Settings that differ, those of which only the secret differs included. */
export function changedSettings(before: Config, now: Config): readonly ChangedSetting[] {
  if (before === now) return [];
  const known = changes.get(now);
  if (known?.before === before) return known.changed;
  const changed = compareSettings(before, now);
  changes.set(now, { before, changed });
  return changed;
}

function compareSettings(before: Config, now: Config): ChangedSetting[] {
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

function* leavesOf(value: Json, path: SettingPath = []): Generator<Leaf> {
  if (value === undefined || value === null) return;
  const isList = Array.isArray(value) && value.every((item) => typeof item !== 'object' || item instanceof Secret);
  if (isList || typeof value !== 'object' || value instanceof Secret) {
    yield { path, value };
    return;
  }
  const entries: Iterable<[string | number, Json]> = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [name, inner] of entries) yield* leavesOf(inner, [...path, name]);
}
