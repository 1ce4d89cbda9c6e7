/**
 * What is known about providers' models by their ids, as data in `rules.json`. Of all entries whose globs match an id the
 * fields are merged, the last one winning; an id that matches none has no rules, which means the newest ones.
 */

import { readFileSync } from 'node:fs';
import type { Modality, ModelRules } from '../core/model.ts';
import { lookUp } from '../core/table.ts';

interface ProviderRules {
  /** Globs of ids that a chat request can't reach: other endpoints, other kinds of output. */
  unreachable?: string[];
  rules?: { models: string[]; rules: ModelRules }[];
  /** What the server reads for all of its models, whatever they read themselves: it turns documents into text. */
  reads?: Modality[];
}

let cachedRules: Record<string, ProviderRules> | undefined;

function providerRules(provider: string): ProviderRules {
  cachedRules ??= JSON.parse(readFileSync(new URL('./rules.json', import.meta.url), 'utf8')) as Record<
    string,
    ProviderRules
  >;
  return lookUp(cachedRules, provider) ?? {};
}

/** `id` is the upstream's, without the provider. A new object every time. */
export function rulesFor(provider: string, id: string): ModelRules {
  const entries = providerRules(provider).rules ?? [];
  return Object.assign({}, ...entries.filter(({ models }) => matchesAny(models, id)).map(({ rules }) => rules));
}

/** The modalities that the provider's server accepts for every model. */
export function readByServer(provider: string): readonly Modality[] {
  return providerRules(provider).reads ?? [];
}

/** Whether chat, messages or content generation can be asked of this id at all, as far as its name is known. */
export function isReachable(provider: string, id: string): boolean {
  return !matchesAny(providerRules(provider).unreachable ?? [], id);
}

const compiledGlobs = new Map<string, RegExp>();

/** `*` stands for any characters, none too; everything else for itself. */
export function matchesPattern(glob: string, id: string): boolean {
  let pattern = compiledGlobs.get(glob);
  if (!pattern) {
    pattern = new RegExp(`^${glob.split('*').map(RegExp.escape).join('.*')}$`);
    compiledGlobs.set(glob, pattern);
  }
  return pattern.test(id);
}

function matchesAny(globs: readonly string[], id: string): boolean {
  return globs.some((glob) => matchesPattern(glob, id));
}
