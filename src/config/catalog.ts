/** Configuration of newer facts about models: schema, settings, and how they are printed. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { isLoopback } from '../core/loopback.ts';
import { httpUrl } from './fields.ts';
import type { CatalogConfig } from './resolved.ts';
import type { ReportProblem } from './videos.ts';

/** Defaults, spelled as in the file. */
const CATALOG_DEFAULTS = { update: 'off' as const, source: 'https://models.dev/api.json' };

const DAY_MS = 24 * 3_600_000;
const INTERVALS_MS = { daily: DAY_MS, weekly: 7 * DAY_MS };

export const catalog = Type.Object(
  {
    update: Type.Optional(
      Type.Union([Type.Literal('off'), Type.Literal('daily'), Type.Literal('weekly')], {
        default: CATALOG_DEFAULTS.update,
        description: 'How often the gateway runs `polygate catalog update` itself.',
      }),
    ),
    source: Type.Optional(httpUrl(`Where the facts are, by https; ${CATALOG_DEFAULTS.source} if absent.`)),
  },
  { additionalProperties: false, description: 'Newer facts about models, from a public source.' },
);

export function resolveCatalog(entry: Static<typeof catalog>, report: ReportProblem): CatalogConfig {
  const source = entry.source ?? CATALOG_DEFAULTS.source;
  const url = URL.parse(source);
  if (url?.protocol !== 'https:' && !isLoopback(url?.hostname ?? '')) report('catalog.source', 'must be an https URL');
  const update = entry.update ?? CATALOG_DEFAULTS.update;
  return { source, ...(update !== 'off' && { updateMs: INTERVALS_MS[update] }) };
}

export function describeCatalog({ updateMs, source }: CatalogConfig): object {
  const [update] = Object.entries(INTERVALS_MS).find(([, interval]) => interval === updateMs) ?? ['off'];
  return { update, source };
}
