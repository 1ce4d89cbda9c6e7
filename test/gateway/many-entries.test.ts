/** Ten thousand models and keys in the configuration: the work at start grows with the file, and that of a request not at all. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { parseConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/resolved.ts';
import { createProviderRegistry, type ProviderRegistry } from '../../src/gateway/provider-registry.ts';
import { type KeyStore, openKeyStore } from '../../src/keys/store.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { candidatesFor } from '../../src/routing/candidates.ts';
import { unknownModels } from '../../src/routing/model-names.ts';
import type { Store } from '../../src/store/store.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createUpstreamClient } from '../../src/transport/upstream-client.ts';
import { useStore } from '../store/reusable-store.ts';

const FEW = 1_000;
const MANY = 10_000;
const TRIES = 4;

/** As many models of a provider, models with endpoints of their own, and keys. */
function fileWith(count: number): string {
  const entries = (entry: (index: number) => string) => Array.from({ length: count }, (_, index) => entry(index));
  return [
    'providers:',
    '  up:',
    '    type: openai-compatible',
    '    base_url: http://127.0.0.1:9/v1',
    '    api_key: sk-up',
    '    models:',
    ...entries(
      (index) => `      - id: small-${index}\n        pricing: { prompt: "0.000001", completion: "0.000002" }`,
    ),
    'models:',
    ...entries((index) => `  house/m-${index}:\n    endpoints: [{ provider: up, model: small-${index} }]`),
    'keys:',
    ...entries((index) => `  - { name: key-${index}, key: ${keyOf(index)}, models: ["house/*", "up/*"] }`),
  ].join('\n');
}

function keyOf(index: number): string {
  return `sk-client-${String(index).padStart(8, '0')}`;
}

function configOf(text: string): Config {
  return parseConfig(text, { environment: {}, known: providerTypes });
}

function registryOf(config: Config): ProviderRegistry {
  return createProviderRegistry(config.providers, {
    upstream: createUpstreamClient(config.server.deadlines),
    log: createLog({ write: () => undefined }, 'error'),
    userAgent: 'test',
    routes: config.routing,
  });
}

/** Processor time of this thread in milliseconds, the least of some tries, and the last result. */
function costOf<Result>(work: () => Result): { cost: number; result: Result } {
  let cost = Number.POSITIVE_INFINITY;
  let result = work();
  for (let round = 0; round < TRIES; round++) {
    const before = process.threadCpuUsage();
    result = work();
    const { user, system } = process.threadCpuUsage(before);
    cost = Math.min(cost, (user + system) / 1000);
  }
  return { cost, result };
}

test('a file of 10,000 models and keys is read, and its models listed, in proportion to its length', () => {
  const [few, many] = [FEW, MANY].map((count) => {
    const text = fileWith(count);
    const parsed = costOf(() => load(text));
    const read = costOf(() => configOf(text));
    const listed = costOf(() => registryOf(read.result));
    listed.result.close();
    assert.equal(listed.result.catalog().all().length >= 2 * count, true);
    return { parsed: parsed.cost, all: read.cost + listed.cost };
  });
  assert.ok(few && many);
  // Ten times as many; something that looks at all entries for each would take a hundred times as long.
  assert.ok(many.all < 25 * few.all, `${few.all} ms for ${FEW}, ${many.all} ms for ${MANY}`);
  assert.ok(many.all < 4 * many.parsed, `${many.all} ms, of which parsing takes ${many.parsed} ms`);
});

test('10,000 endpoints are looked up in the lists of their providers, in proportion to their number', () => {
  const [few, many] = [FEW, MANY].map((count) => {
    const text = fileWith(count).replaceAll(/\n {8}pricing: .*/g, '');
    const models = registryOf(configOf(text.replace('model: small-1 }', 'model: smal-1 }')));
    const { cost, result } = costOf(() => unknownModels(models));
    models.close();
    assert.deepEqual(result, [{ setting: 'models.house/m-1.endpoints[0]', name: 'smal-1', provider: 'up' }]);
    return cost;
  });
  assert.ok(few !== undefined && many !== undefined && many < 25 * Math.max(few, 1), `${few} and ${many} ms`);
});

test('the start asks the store as often with 10,000 keys in the configuration as with one', async () => {
  const calls = await Promise.all(
    [1, MANY].map(async (count) => {
      const { store, folder, release } = await useStore();
      const counted = countCalls(store);
      const keys = await openKeyStore({ store: counted.store, folder, configured: configOf(fileWith(count)).keys });
      assert.equal((await keys.list()).length, count);
      await keys.close();
      await release();
      return counted.calls;
    }),
  );
  assert.deepEqual(calls[1], calls[0]);
});

function countCalls(store: Store): { store: Store; calls: string[] } {
  const calls: string[] = [];
  const call = ((name: never, parameters: never) => {
    calls.push(name);
    return store.call(name, parameters);
  }) as Store['call'];
  return { store: { ...store, call }, calls };
}

test('a request finds its key and its endpoints as fast among 10,000 as among ten', async () => {
  const costs: number[] = [];
  for (const count of [10, MANY]) {
    const { store, folder, release } = await useStore();
    const config = configOf(fileWith(count));
    const keys = await openKeyStore({ store, folder, configured: config.keys });
    const models = registryOf(config);
    costs.push(costOf(() => findOften({ keys, models, count })).cost);
    models.close();
    await keys.close();
    await release();
  }
  const [few, many] = costs;
  // Caches of the processor hold ten entries better than ten thousand.
  assert.ok(few && many && many < 10 * few, `${few} ms among 10, ${many} ms among ${MANY}`);
});

function findOften({ keys, models, count }: { keys: KeyStore; models: ProviderRegistry; count: number }): void {
  const protocol = protocolOf('chat');
  const operation = protocol.operations.complete;
  assert.ok(operation);
  for (let round = 0; round < MANY; round++) {
    // Ten of them, from everywhere in the file.
    const index = Math.floor(((round % 10) * count) / 10);
    const key = keys.authenticate(keyOf(index));
    assert.ok(key && !(key instanceof Promise) && key.allows('house/m'));
    const found = candidatesFor(models, `house/m-${index}`, { rank: 0, call: { protocol, operation } });
    assert.ok(!(found instanceof Promise) && found.length === 1);
  }
}
