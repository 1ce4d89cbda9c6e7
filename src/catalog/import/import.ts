/** Catalog import: a source in any known format, merged into the entries of a catalog file. */

import type { CatalogEntry } from '../entry.ts';
import { completeModels } from './completion.ts';
import { liteLlm } from './litellm.ts';
import { type MergeResult, merge } from './merge.ts';
import { modelsDev } from './models-dev.ts';
import { openRouter } from './openrouter.ts';
import { rubyLlm } from './ruby-llm.ts';
import { parseDigits, type SourceFormat } from './source.ts';

export const sourceFormats: readonly SourceFormat[] = [rubyLlm, openRouter, modelsDev, liteLlm];

export interface ImportResult extends MergeResult {
  format: string;
  /** Number of models in the source, and of chat models of served providers among them. */
  read: number;
  served: number;
}

/** Throws if the text is not JSON or in no known format. */
export function importModels(
  text: string,
  { before = [], format, fresh = false }: { before?: readonly CatalogEntry[]; format?: string; fresh?: boolean } = {},
): ImportResult {
  const body = parseDigits(text);
  const chosen = sourceFormats.find((candidate) => (format ? candidate.name === format : candidate.detect(body)));
  if (!chosen) {
    const names = sourceFormats.map(({ name }) => name).join(', ');
    throw new Error(format ? `unknown format ${format}; known: ${names}` : `this is in none of the formats ${names}`);
  }
  const models = chosen.read(body);
  const imported = completeModels(models);
  return { format: chosen.name, read: models.length, served: imported.length, ...merge(before, imported, fresh) };
}
