/** One import: the text of a source in any known format, merged into the entries of a catalog file. */

import type { CatalogEntry } from '../entry.ts';
import { complete } from './completion.ts';
import { liteLlm } from './litellm.ts';
import { type Merged, merge } from './merge.ts';
import { modelsDev } from './models-dev.ts';
import { openRouter } from './openrouter.ts';
import { rubyLlm } from './ruby-llm.ts';
import { parseDigits, type SourceFormat } from './source.ts';

export const formats: readonly SourceFormat[] = [rubyLlm, openRouter, modelsDev, liteLlm];

export interface Import extends Merged {
  format: string;
  /** How many models the source lists, and how many of them are chat models of providers we serve. */
  read: number;
  kept: number;
}

/** Throws when the text is not JSON, or in none of the formats. */
export function importModels(
  text: string,
  { before = [], format, fresh = false }: { before?: readonly CatalogEntry[]; format?: string; fresh?: boolean } = {},
): Import {
  const body = parseDigits(text);
  const chosen = formats.find((candidate) => (format ? candidate.name === format : candidate.detect(body)));
  if (!chosen) {
    const names = formats.map(({ name }) => name).join(', ');
    throw new Error(format ? `unknown format ${format}; known: ${names}` : `this is in none of the formats ${names}`);
  }
  const models = chosen.read(body);
  const imported = complete(models);
  return { format: chosen.name, read: models.length, kept: imported.length, ...merge(before, imported, fresh) };
}
