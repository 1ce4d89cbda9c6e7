/** Look-up of models and routes: its time does not grow with their number, whatever the name. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { catalogModel } from '../../src/catalog/entry.ts';
import { MAX_MODEL_CHARACTERS } from '../../src/core/lengths.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { candidatesFor } from '../../src/routing/candidates.ts';
import type { ModelDirectory } from '../../src/routing/model-directory.ts';
import { readModelName } from '../../src/routing/model-names.ts';
import { createProviderSlugs } from '../../src/routing/slugs.ts';

const [FEW, MANY] = [100, 10_000];
/** Of times: that of a search through all of them would be a hundred. */
const MOST_GROWTH = 10;
const MEASUREMENTS = 3;
/** Time of the processor for which look-ups are counted: the system counts it in steps of up to four milliseconds. */
const MEASURED_US = 50_000;
/** A look-up of fewer microseconds counts as one of so many. */
const LEAST_US = 2.5;
const LOOK_UPS = 40;

/** So many models, routes and aliases, whose names begin and end alike. */
function directoryOf(count: number): ModelDirectory {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const models = numbers.map((index) =>
    catalogModel('vendor', { id: `model-${index}-large`, canonicalSlug: `vendor/model-${index}-large-2026-01-01` }),
  );
  const aliases = new Map(numbers.map((index) => [`alias-${index}-large`, `vendor/model-${index}-large`]));
  const facts = { priority: 1, facts: {} };
  const routes = new Map(
    numbers.map((index) => [`team/route-${index}`, [{ provider: 'vendor', model: `model-${index}-large`, ...facts }]]),
  );
  const catalog = createCatalog([{ provider: 'vendor', models }], { aliases });
  return {
    providers: new Map(),
    catalog: () => catalog,
    routes: { models: routes, aliases, bareNames: [], fallbackModels: [] },
    slugs: new Set(['vendor']),
  };
}

let made: { few: ModelDirectory; many: ModelDirectory } | undefined;

function directories() {
  made ??= { few: directoryOf(FEW), many: directoryOf(MANY) };
  return made;
}

const chat = protocolOf('chat');
const { complete } = chat.operations;
const call = { protocol: chat, operation: complete, body: {} } as never;

async function lookUp(models: ModelDirectory, text: string): Promise<void> {
  const { name } = readModelName(text, models, createProviderSlugs(models.slugs));
  try {
    await candidatesFor(models, name, { rank: 0, call });
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'model_not_found');
  }
}

/** Microseconds of the processor for a look-up of a name: the least of some measurements, since others have collections in them. */
async function timeOf(models: ModelDirectory, name: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < MEASUREMENTS; count++) times.push(await measure(models, name));
  return Math.min(...times);
}

async function measure(models: ModelDirectory, name: string): Promise<number> {
  const start = process.threadCpuUsage();
  for (let lookUps = LOOK_UPS; ; lookUps += LOOK_UPS) {
    for (let count = 0; count < LOOK_UPS; count++) await lookUp(models, name);
    const { user, system } = process.threadCpuUsage(start);
    if (user + system >= MEASURED_US) return (user + system) / lookUps;
  }
}

/** A text of the greatest length that begins with `start`. */
function longest(start: string, piece: string): string {
  return start + piece.repeat(MAX_MODEL_CHARACTERS).slice(start.length, MAX_MODEL_CHARACTERS);
}

const NAMES: Record<string, string> = {
  'a model': 'vendor/model-50-large',
  'a model without its provider': 'model-50-large',
  'a dated name': 'vendor/model-50-large-2026-01-01',
  'a route': 'team/route-50',
  'an alias with a suffix': 'alias-50-large:floor',
  'a name that is almost one of each model': 'vendor/model-5x-large',
  'a name of nothing, as long as names with suggestions': `vendor/model-${'1'.repeat(67)}`,
  'the longest name': longest('', 'a'),
  'the longest name that begins like all': longest('vendor/model-', '1'),
  'the longest name of a provider that there is not': longest('other/', '/'),
  'the longest name of suffixes': longest('vendor/model-50-large', ':floor'),
  'the longest name of slashes': longest('', '/'),
  'the longest name of colons': longest('a', ':'),
  'the longest name of characters that take two': longest('', '\u{1f600}'),
};

for (const [what, name] of Object.entries(NAMES)) {
  test(`${what} is looked up among ${MANY} models and routes in the time of ${FEW}`, async () => {
    assert.ok(name.length <= MAX_MODEL_CHARACTERS);
    const { few, many } = directories();
    // The order of the names is made once.
    await Promise.all([few, many].map((models) => lookUp(models, name)));
    const [little, much] = [await timeOf(few, name), await timeOf(many, name)];
    assert.ok(much < MOST_GROWTH * Math.max(little, LEAST_US), `${little} and ${much} µs`);
  });
}
