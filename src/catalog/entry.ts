/** Catalog entries: partial facts about a model, completed to a catalog model. */

import type { CatalogModel, ModelRules } from '../core/model.ts';
import { withToolPrices } from '../core/prices.ts';
import { describeModel } from './description.ts';
import { readByServer, rulesFor, serviceTiersFor, toolPricesFor } from './rules.ts';

/** Facts about a model; omitted fields get conservative defaults. `id` is the upstream id, without the provider. */
export interface CatalogEntry extends Partial<Omit<CatalogModel, 'id' | 'provider'>> {
  id: string;
}

/** Parameters that every chat endpoint accepts. */
const COMMON_PARAMETERS = ['max_tokens', 'temperature', 'top_p', 'stop'];

const TOKENIZERS: Record<string, string> = {
  openai: 'GPT',
  anthropic: 'Claude',
  google: 'Gemini',
  deepseek: 'DeepSeek',
  mistral: 'Mistral',
  xai: 'Grok',
  cohere: 'Cohere',
};

const SNAPSHOT_DATE = /-(\d{4}-\d{2}-\d{2}|\d{8})$/;

/** Vendor and upstream id of a model, by which its facts and rules are found. */
export function identityOf({ base, upstreamId, id }: CatalogEntry, vendor: string): { vendor: string; id: string } {
  if (base === undefined) return { vendor, id: upstreamId ?? id };
  const slash = base.indexOf('/');
  return { vendor: base.slice(0, slash), id: base.slice(slash + 1) };
}

/** `defaultVendor` selects rules and defaults, unless the entry has a base; `provider` is the configured name. */
export function catalogModel(provider: string, entry: CatalogEntry, defaultVendor = provider): CatalogModel {
  const { vendor, id: knownId } = identityOf(entry, defaultVendor);
  const id = `${provider}/${entry.id}`;
  const contextLength = entry.contextLength ?? 0;
  const created = entry.created ?? 0;
  const outputModalities = entry.outputModalities ?? [entry.video ? 'video' : 'text'];
  const chats = outputModalities.some((modality) => modality !== 'video');
  const writesText = outputModalities.includes('text');
  const pricing = entry.pricing ?? {};
  const facts = {
    name: entry.name ?? entry.id,
    contextLength,
    inputModalities: entry.inputModalities ?? ['text'],
    outputModalities,
    supportedParameters: entry.supportedParameters ?? (chats ? COMMON_PARAMETERS : []),
  };
  return {
    id,
    provider,
    upstreamId: entry.upstreamId ?? entry.id,
    ...(entry.base !== undefined && { base: entry.base }),
    canonicalSlug: entry.canonicalSlug ?? id,
    description: entry.description ?? describeModel(facts),
    created,
    ownedBy: entry.ownedBy ?? (entry.id.includes('/') ? vendorOf(entry.id) : vendor),
    version: entry.version ?? SNAPSHOT_DATE.exec(entry.id)?.[1] ?? dateOf(created),
    maxOutput: entry.maxOutput ?? contextLength,
    tokenizer: entry.tokenizer ?? (chats ? TOKENIZERS[vendor] : undefined) ?? 'Other',
    instructType: entry.instructType ?? null,
    pricing: writesText ? withToolPrices(pricing, toolPricesFor(vendor, knownId)) : pricing,
    ...(entry.priceTiers && { priceTiers: entry.priceTiers }),
    ...serviceTiersOf(entry, serviceTiersFor(vendor, knownId)),
    isModerated: entry.isModerated ?? vendor === 'openai',
    expirationDate: entry.expirationDate ?? null,
    ...facts,
    rules: rulesOf(vendor, knownId, entry),
    ...(entry.video && { video: entry.video }),
  };
}

/** Rules by id, completed by facts of the entry, overridden by its own rules. */
function rulesOf(vendor: string, id: string, entry: CatalogEntry): ModelRules {
  const rules = rulesFor(vendor, id);
  if (entry.maxOutput) rules.maxOutput = entry.maxOutput;
  if (entry.inputModalities) {
    rules.inputModalities = [...new Set([...entry.inputModalities, ...readByServer(vendor)])];
  }
  if (entry.supportedParameters && !entry.supportedParameters.includes('reasoning')) rules.reasoning ??= 'none';
  return { ...rules, ...entry.rules };
}

/** Tiers of the entry override those of the vendor. The entry needs no prices: a routed model may have its own. */
function serviceTiersOf(entry: CatalogEntry, known: CatalogModel['serviceTiers']): Pick<CatalogModel, 'serviceTiers'> {
  if (!known && !entry.serviceTiers) return {};
  return { serviceTiers: { ...known, ...entry.serviceTiers } };
}

function dateOf(created: number): string {
  return created === 0 ? '1' : new Date(created * 1000).toISOString().slice(0, 10);
}

/** The `anthropic` of `~anthropic/claude-opus-latest`. */
function vendorOf(id: string): string {
  return id.slice(0, id.indexOf('/')).replace('~', '');
}
