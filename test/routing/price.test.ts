/** Prices of models: of the catalog, and of endpoints that the configuration names, which are looked through once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogModel } from '../../src/core/model.ts';
import { type ActiveProvider, hasPrice, type RoutedEndpoint } from '../../src/routing/model-directory.ts';

const ENDPOINTS = 2000;

/** Counts how often its values are read. */
class ReadModels extends Map<string, readonly RoutedEndpoint[]> {
  reads = 0;
  override values() {
    this.reads += 1;
    return super.values();
  }
}

function routesWith(priced: readonly string[]) {
  const models = new ReadModels();
  for (let index = 0; index < ENDPOINTS; index++) {
    const model = `m${index}`;
    const pricing = priced.includes(model) ? { prompt: '0', completion: '0' } : undefined;
    models.set(`house/${model}`, [{ provider: 'local', model, priority: 0, facts: {}, ...(pricing && { pricing }) }]);
  }
  return { models, aliases: new Map(), bareNames: [], fallbackModels: [] };
}

test('endpoints are looked through once for a configuration, not once for each record', () => {
  const own = { modelOf: (id: string) => ({ pricing: id === 'listed' ? { prompt: '1' } : {} }) as CatalogModel };
  const providers = new Map([['local', own as ActiveProvider]]);
  const routes = routesWith(['m1999']);
  for (let index = 0; index < ENDPOINTS; index++)
    assert.equal(hasPrice({ providers, routes }, `local/m${index}`), index === 1999);
  assert.equal(hasPrice({ providers, routes }, 'local/listed'), true);
  assert.equal(hasPrice({ providers, routes }, 'elsewhere/m1999'), false);
  assert.equal(routes.models.reads, 1);
  const reloaded = routesWith(['m0']);
  assert.deepEqual(
    [hasPrice({ providers, routes: reloaded }, 'local/m0'), hasPrice({ providers, routes: reloaded }, 'local/m1999')],
    [true, false],
  );
});
