/** Completion of imported models: facts of name-only entries, parameters and canonical slugs; models that can't chat are dropped. */

import type { CatalogEntry } from '../entry.ts';
import { supportedParameters } from '../parameters.ts';
import { isReachable } from '../rules.ts';
import type { SourceModel } from './source.ts';

/** Providers that the gateway serves; others are not imported. */
const SERVED_PROVIDERS = new Set([
  'openai',
  'anthropic',
  'google',
  'deepseek',
  'mistral',
  'xai',
  'cohere',
  'openrouter',
]);

/** Vendor names on OpenRouter, where they differ. */
const OPENROUTER_VENDORS: Record<string, string> = { xai: 'x-ai', mistral: 'mistralai' };

/** Suffixes of four digits are excluded: `-0905` is as often another model as a snapshot. */
const SNAPSHOT_DATE = /-(\d{4}-\d{2}-\d{2}|\d{8})$/;

/** Entries with ids `<provider>/<model_id>`, sorted by id. */
export function completeModels(models: SourceModel[]): CatalogEntry[] {
  const served = models.filter(
    ({ provider, entry }) => SERVED_PROVIDERS.has(provider) && isReachable(provider, entry.id),
  );
  const known = new Map(served.filter(({ nameOnly }) => !nameOnly).map((model) => [idOf(model), model]));
  const chatting = served
    .map((model) => (model.nameOnly ? withFactsOfSameModel(model, known) : model))
    .filter((model) => model !== undefined)
    .filter(chats);
  const ids = new Set(chatting.map(idOf));
  return chatting.map((model) => entryOf(model, ids)).sort((one, other) => (one.id < other.id ? -1 : 1));
}

function idOf({ provider, entry }: SourceModel): string {
  return `${provider}/${entry.id}`;
}

/**
 * A dated snapshot without facts takes those of the id without its date; any other model those of OpenRouter's listing.
 * Without either it is dropped.
 */
function withFactsOfSameModel(model: SourceModel, known: ReadonlyMap<string, SourceModel>): SourceModel | undefined {
  const { provider, entry } = model;
  const alias = known.get(`${provider}/${entry.id.replace(SNAPSHOT_DATE, '')}`);
  const twin = alias ?? known.get(`openrouter/${OPENROUTER_VENDORS[provider] ?? provider}/${entry.id}`);
  if (!twin) return undefined;
  const { canonicalSlug, isModerated, instructType, tokenizer, supportedParameters: _, ...facts } = twin.entry;
  const { id, name, created = facts.created, version } = entry;
  return {
    provider,
    entry: { ...facts, id, name: nameOf(name, id, facts.name), created, version },
    abilities: abilitiesOf(twin),
  };
}

/** A source without facts names a model by its id. */
function nameOf(name: string | undefined, id: string, twin: string | undefined): string | undefined {
  const snapshot = SNAPSHOT_DATE.exec(id)?.[1];
  if (name !== id || twin === undefined) return name;
  const bare = twin.replace(/^[^:]+: /, '');
  return snapshot ? `${bare} (${snapshot})` : bare;
}

function abilitiesOf({ abilities, entry: { supportedParameters: listed = [] } }: SourceModel) {
  return {
    tools: abilities?.tools || listed.includes('tools'),
    schema: abilities?.schema || listed.includes('structured_outputs'),
    reasoning: abilities?.reasoning || listed.includes('reasoning'),
  };
}

function chats({ entry }: SourceModel): boolean {
  const { inputModalities = ['text'], outputModalities = ['text'], contextLength } = entry;
  return contextLength !== undefined && inputModalities.includes('text') && outputModalities.includes('text');
}

function entryOf(model: SourceModel, ids: ReadonlySet<string>): CatalogEntry {
  const { provider, entry, abilities } = model;
  const id = idOf(model);
  return {
    ...entry,
    id,
    canonicalSlug: entry.canonicalSlug ?? snapshotOf(id, ids),
    supportedParameters:
      entry.supportedParameters?.toSorted() ?? (abilities && supportedParameters(provider, entry.id, abilities)),
  };
}

/** Dated snapshot of an id, if exactly one is known. */
function snapshotOf(id: string, ids: ReadonlySet<string>): string | undefined {
  const snapshots = [...ids].filter(
    (other) => other.startsWith(`${id}-`) && SNAPSHOT_DATE.exec(other)?.index === id.length,
  );
  return snapshots.length === 1 ? snapshots[0] : undefined;
}
