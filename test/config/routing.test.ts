/** The sections of the configuration that say where requests go. */

import assert from 'node:assert/strict';
import { describe as group, test } from 'node:test';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { describeConfig } from '../../src/config/mask.ts';
import type { Config } from '../../src/config/resolved.ts';
import { providerTypes } from '../../src/providers/index.ts';

function load(yaml: string): Config {
  return parseConfig(yaml, { environment: {}, known: providerTypes });
}

const FULL = `
models:
  house/fast:
    endpoints:
      - { provider: sandbox, model: echo }
      - provider: openai
        model: gpt-5
        priority: 1
        weight: 2.5
        pricing: { prompt: "0.000001", completion: "0.000002" }
        data_policy: { zdr: true, training: false }
        quantization: fp8
aliases: { gpt-4: house/fast }
default_model: house/fast
routing: { sort: price, fallback_models: [sandbox/echo], cooldown: 30s }
`;

group('routing', () => {
  test('is read in full, and written as it was read', () => {
    const config = load(FULL);
    assert.deepEqual(config.routing.models.get('house/fast')?.[1], {
      provider: 'openai',
      model: 'gpt-5',
      priority: 1,
      weight: 2.5,
      pricing: { prompt: '0.000001', completion: '0.000002' },
      facts: { zdr: true, training: false, distillable: undefined, quantization: 'fp8' },
    });
    assert.equal(config.routing.aliases.get('gpt-4'), 'house/fast');
    assert.equal(config.routing.cooldown, 30_000);
    assert.deepEqual(load(describeConfig(config)).routing, config.routing);
    assert.equal(parse(describeConfig(config)).models['house/fast'].endpoints[1].data_policy.zdr, true);
  });

  test('has defaults', () => {
    const { models, aliases, ...rest } = load('').routing;
    assert.deepEqual([models.size, aliases.size], [0, 0]);
    assert.deepEqual(rest, {
      bareNames: [],
      defaultModel: undefined,
      sort: undefined,
      fallbackModels: [],
      cooldown: 10_000,
    });
  });

  const FAULTS: [string, RegExp][] = [
    ['models: { fast: { endpoints: [{ provider: sandbox, model: echo }] } }', /models\.fast/],
    ['models: { a/b: { endpoints: [] } }', /endpoints: must not be empty/],
    ['models: { a/b: { endpoints: [{ provider: sandbax, model: echo }] } }', /did you mean sandbox\?/],
    ['models: { a/b: { endpoints: [{ provider: sandbox, model: echo, wait: 1 }] } }', /unknown field/],
    ['models: { a/b: { endpoints: [{ provider: sandbox, model: echo, weight: 0 }] } }', /greater than 0/],
    ['aliases: { a: b, b: c }', /aliases\.a: must stand for a model; "b" is an alias too/],
    ['routing: { sort: best }', /must be one of "price", "latency", "throughput"/],
    ['routing: { bare_names: [sandbax] }', /routing\.bare_names\[0\]: .*did you mean sandbox\?/],
    ['routing: { cooldown: soon }', /must be a duration/],
  ];
  for (const [yaml, message] of FAULTS) {
    test(yaml, () => assert.throws(() => load(yaml), message));
  }
});
