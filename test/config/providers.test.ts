// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Environment } from '../../src/config/environment.ts';
import type { ProviderConfig, ReadyProvider } from '../../src/config/resolved.ts';
import { PRICE_NAMES } from '../../src/core/prices.ts';
import { configOf, faultsOf } from './sources.ts';

function states(text: string, environment?: Environment): Record<string, string> {
  return Object.fromEntries(
    configOf(text, environment).providers.map((provider) => [
      provider.id,
      provider.state === 'ready' ? 'ready' : provider.waitingFor.join(' or '),
    ]),
  );
}

function ready(id: string, text: string, environment?: Environment): ReadyProvider {
  const found = configOf(text, environment).providers.find((provider: ProviderConfig) => provider.id === id);
  assert.ok(found?.state === 'ready', `${id} is ready`);
  return found;
}

describe('without a file', () => {
  test('what is built in is on and the others wait for their variable', () => {
    assert.deepEqual(states(''), {
      openai: 'OPENAI_API_KEY',
      google: 'GEMINI_API_KEY or GOOGLE_API_KEY',
      sandbox: 'ready',
    });
  });

  test('a set variable switches a provider on, an empty one does not', () => {
    const environment = { OPENAI_API_KEY: '', GOOGLE_API_KEY: 'second', GEMINI_API_KEY: '' };
    assert.deepEqual(states('', environment), { openai: 'OPENAI_API_KEY', google: 'ready', sandbox: 'ready' });
    assert.equal(ready('google', '', environment).apiKeys[0]?.reveal(), 'second');
    assert.equal(ready('google', '', { ...environment, GEMINI_API_KEY: 'first' }).apiKeys[0]?.reveal(), 'first');
  });
});

describe('in a file', () => {
  test('a provider whose key refers to a variable that is not set waits for it', () => {
    assert.equal(states('providers: { openai: { api_key: "${MY_KEY}" } }').openai, 'MY_KEY');
    assert.equal(states('providers: { openai: { api_key: "${MY_KEY}" } }', { MY_KEY: 'k' }).openai, 'ready');
  });

  test('a key in the file wins over the usual variable', () => {
    const { apiKeys } = ready('openai', 'providers: { openai: { api_key: own } }', { OPENAI_API_KEY: 'usual' });
    assert.equal(apiKeys[0]?.reveal(), 'own');
  });

  test('white space around a key is not of it', () => {
    assert.equal(ready('openai', '', { OPENAI_API_KEY: ' key\r\n' }).apiKeys[0]?.reveal(), 'key');
    const { apiKeys } = ready('openai', 'providers: { openai: { api_key: "${MY_KEY}" } }', { MY_KEY: 'key\n' });
    assert.equal(apiKeys[0]?.reveal(), 'key');
    assert.equal(states('', { OPENAI_API_KEY: ' \n' }).openai, 'OPENAI_API_KEY');
  });

  test('a key that no request can carry is an error without it', () => {
    const text = 'providers: { openai: { api_key: "${MY_KEY}" } }';
    for (const [key, problem] of [
      ['one\ntwo', 'has a space or the end of a line in it, which no key has'],
      ["'one'", 'has quotes around it, which belong to no key; docker --env-file keeps those of its file'],
      ['one\u2026', 'has a character that no key has'],
    ] as const) {
      assert.deepEqual(faultsOf(text, { MY_KEY: key }), [`1: providers.openai.api_key: ${problem}`]);
      assert.deepEqual(faultsOf('{}', { OPENAI_API_KEY: key }), [
        `1: providers.openai.api_key: OPENAI_API_KEY ${problem}`,
      ]);
    }
    assert.deepEqual(faultsOf('providers: { openai: { api_keys: [one, "t wo"] } }'), [
      '1: providers.openai.api_keys[1]: has a space or the end of a line in it, which no key has',
    ]);
  });

  test('a usual variable is not read beside a key in the file', () => {
    const text = 'providers: { openai: { api_key: own } }';
    assert.equal(ready('openai', text, { OPENAI_API_KEY: '"quoted"' }).apiKeys[0]?.reveal(), 'own');
  });

  test('quotes without anything between them, which docker --env-file keeps, are no key', () => {
    for (const empty of ['""', "''"]) {
      assert.equal(states('', { OPENAI_API_KEY: empty }).openai, 'OPENAI_API_KEY');
      assert.equal(ready('google', '', { GEMINI_API_KEY: empty, GOOGLE_API_KEY: 'k' }).apiKeys[0]?.reveal(), 'k');
    }
  });

  test('a server that may need no key may have words in its place', () => {
    const text = 'providers: { ollama: { api_key: "not needed" } }';
    assert.equal(ready('ollama', text).apiKeys[0]?.reveal(), 'not needed');
    assert.deepEqual(faultsOf('providers: { ollama: { api_key: "one\\ntwo" } }'), [
      '1: providers.ollama.api_key: has a space or the end of a line in it, which no key has',
    ]);
  });

  test('a key in JSON, as of a service account, is taken as it is', () => {
    const json = '{\n  "type": "service_account"\n}';
    assert.equal(ready('google', '', { GEMINI_API_KEY: json }).apiKeys[0]?.reveal(), json);
  });

  test('several keys are all taken, but not beside a single one', () => {
    const { apiKeys } = ready('openai', 'providers: { openai: { api_keys: [one, "${TWO}"] } }', { TWO: 'two' });
    assert.deepEqual(
      apiKeys.map((key) => key.reveal()),
      ['one', 'two'],
    );
    assert.throws(
      () => ready('openai', 'providers: { openai: { api_key: a, api_keys: [b] } }'),
      /conflicts with api_key/,
    );
  });

  test('an entry without a key takes the usual variable, or waits for it', () => {
    const text = 'providers: { openai: { base_url: "http://127.0.0.1:9000/" } }';
    assert.equal(states(text).openai, 'OPENAI_API_KEY');
    const provider = ready('openai', text, { OPENAI_API_KEY: 'usual' });
    assert.equal(provider.apiKeys[0]?.reveal(), 'usual');
    assert.equal(provider.baseUrl, 'http://127.0.0.1:9000');
  });

  test('the usual variable never goes to a provider of another name', () => {
    const text = 'providers: { mine: { type: openai, base_url: "http://127.0.0.1:9000" } }';
    assert.deepEqual(ready('mine', text, { OPENAI_API_KEY: 'usual' }).apiKeys, []);
  });

  test('a provider can be switched off, built in or not', () => {
    const text = 'providers: { sandbox: { enabled: false }, openai: { enabled: false } }';
    assert.deepEqual(states(text, { OPENAI_API_KEY: 'k' }), { google: 'GEMINI_API_KEY or GOOGLE_API_KEY' });
  });

  test('a server without a key is on when it is named, not before', () => {
    assert.equal(states('').ollama, undefined);
    assert.equal(states('providers: { ollama: }').ollama, 'ready');
  });

  test('ids may hold dots, and headers are secrets', () => {
    const provider = ready(
      'my.vllm',
      'providers: { my.vllm: { type: openai-compatible, base_url: "http://h/v1", models: discover, headers: { x-team: red-and-blue } } }',
    );
    assert.equal(provider.type, 'openai-compatible');
    assert.equal(provider.models, 'discover');
    assert.equal(provider.headers['x-team']?.reveal(), 'red-and-blue');
    assert.equal(JSON.stringify(provider.headers), '{"x-team":"red-…"}');
  });

  test('headers that frame a request are refused by name', () => {
    for (const name of ['Connection', 'content-length', 'Expect', 'keep-alive', 'Transfer-Encoding', 'upgrade']) {
      assert.deepEqual(faultsOf(`providers: { openai: { api_key: k, headers: { ${name}: close } } }`), [
        `1: providers.openai.headers.${name}: may not be set: the gateway frames its requests`,
      ]);
    }
    assert.equal(states('providers: { openai: { api_key: k, headers: { te: trailers } } }').openai, 'ready');
  });

  test('a value of a header that cannot be sent is refused', () => {
    for (const value of ['a\\nb', '\\u2028', '\\x7f']) {
      assert.deepEqual(faultsOf(`providers: { openai: { api_key: k, headers: { x-team: "${value}" } } }`), [
        '1: providers.openai.headers.x-team: has a character that no header can have',
      ]);
    }
    assert.equal(states('providers: { openai: { api_key: k, headers: { x-team: "r\\té" } } }').openai, 'ready');
  });

  test('a server of the generic type says which protocols it speaks', () => {
    const text =
      'providers: { mine: { type: openai-compatible, base_url: "http://h/v1", protocols: [responses, chat] } }';
    assert.deepEqual(ready('mine', text).protocols, ['responses', 'chat']);
    assert.equal(ready('mine', text.replace(', protocols: [responses, chat]', '')).protocols, undefined);
  });

  test('models say what the operator knows of them', () => {
    const provider = ready(
      'ollama',
      `
providers:
  ollama:
    models:
      - id: qwen
        context_length: 32768
        max_completion_tokens: 4096
        pricing: { prompt: "0.000001", completion: "0", input_cache_read: "0" }
        input_modalities: [text, image]
        rules: { token_field: max_tokens, reasoning_off: true, budget: { min: 1, max: 2 } }
      - id: plain
`,
    );
    assert.deepEqual(provider.models, [
      {
        id: 'qwen',
        contextLength: 32768,
        maxOutput: 4096,
        pricing: { prompt: '0.000001', completion: '0', input_cache_read: '0' },
        inputModalities: ['text', 'image'],
        rules: { tokenField: 'max_tokens', reasoningOff: true, budget: { min: 1, max: 2 } },
      },
      { id: 'plain' },
    ]);
  });
});

const PRICES = PRICE_NAMES.join(', ');

const REFUSED: { text: string; faults: string[] }[] = [
  {
    text: 'providers:\n  opnai: {}',
    faults: [
      '2: providers.opnai: needs type, one of openai, google, ollama, openai-compatible, sandbox; or did you mean openai?',
    ],
  },
  {
    text: 'providers:\n  mine:\n    type: opena',
    faults: [
      '3: providers.mine.type: "opena" is not a provider type; did you mean openai?; allowed: openai, google, ollama, openai-compatible, sandbox',
    ],
  },
  {
    text: 'providers:\n  a.b:\n    type: openai',
    faults: ['2: providers.a.b: needs api_key, e.g. "${A_B_API_KEY}", or the base_url of a server that needs no key'],
  },
  {
    text: 'providers:\n  local: { base_url: "http://127.0.0.1:8000/v1" }',
    faults: [
      '2: providers.local: needs type: openai-compatible for a server with the API of OpenAI, or one of openai, google, ollama, openai-compatible, sandbox',
    ],
  },
  {
    text: 'providers:\n  local: { type: openai-compatible }',
    faults: ['2: providers.local: needs base_url, e.g. http://127.0.0.1:8000/v1'],
  },
  {
    text: 'providers:\n  local: { type: openai-compatible, base_url: "http://h/v1", protocols: [messages] }',
    faults: ['2: providers.local.protocols: must be a list of chat and responses'],
  },
  {
    text: 'providers:\n  ollama: { protocols: [responses] }',
    faults: ['2: providers.ollama.protocols: may not be set: the type ollama speaks chat, responses'],
  },
  {
    text: 'providers:\n  openai: {}\nmodels:\n  "claude-*": { endpoints: [{ provider: openai, model: gpt-5 }] }',
    faults: [
      '4: models.claude-*: is not a valid model name; it has the form <group>/<model>, and patterns with * belong into aliases',
    ],
  },
  {
    text: 'providers:\n  Big: {}',
    faults: [
      '2: providers.Big: is not a valid provider id; use small letters, digits, ".", "_" and "-", with a letter or digit first',
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, contextlength: 5 }',
    faults: [
      '4: providers.openai.models[0].contextlength: unknown field; did you mean context_length?; allowed: id, base, name, context_length, max_completion_tokens, pricing, service_tiers, input_modalities, output_modalities, supported_parameters, created, video, rules',
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, pricing: { promt: "1", output_cost_per_token: "1" } }',
    faults: [
      `4: providers.openai.models[0].pricing.promt: unknown field; did you mean prompt?; allowed: ${PRICES}`,
      `4: providers.openai.models[0].pricing.output_cost_per_token: unknown field; allowed: ${PRICES}`,
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, pricing: { prompt: "1" } }',
    faults: [
      '4: providers.openai.models[0].pricing.completion: is missing; if these tokens are free, set it to "0"; an embedding model needs none if it has output_modalities: [embeddings]',
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, service_tiers: { priority: { input_cache_read: "1" } } }',
    faults: [
      '4: providers.openai.models[0].service_tiers.priority.prompt: is missing; if these tokens are free, set it to "0"',
      '4: providers.openai.models[0].service_tiers.priority.completion: is missing; if these tokens are free, set it to "0"; an embedding model needs none if it has output_modalities: [embeddings]',
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, video: { prices: { per_video_second: "1" } } }',
    faults: [
      '4: providers.openai.models[0].video.prices.per_video_second: is no price of a video; allowed: per-video, per-video-token and per-video-second, with -1080p or the like after a second, and -audio at the end of both',
    ],
  },
  {
    text: 'providers:\n  openai: {}\nmodels:\n  a/b: { endpoints: [{ provider: openai, model: gpt-5, pricing: { completion: "1" } }] }',
    faults: ['4: models.a/b.endpoints[0].pricing.prompt: is missing; if these tokens are free, set it to "0"'],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, pricing: { prompt: 1e-6 } }',
    faults: [
      '4: providers.openai.models[0].pricing.prompt: must be a decimal number of USD in quotes, e.g. "0.0000025", not 0.000001',
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, service_tiers: { default: { prompt: "1" } } }',
    faults: [
      '4: providers.openai.models[0].service_tiers.default: is no service tier with prices of its own; the prices of the standard tier are in pricing',
    ],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, service_tiers: { priority: {} } }',
    faults: ['4: providers.openai.models[0].service_tiers.priority: must not be empty'],
  },
  {
    text: 'providers:\n  openai:\n    models:\n      - { id: a, service_tiers: { priority: { prompt: 1e-6 } } }',
    faults: [
      '4: providers.openai.models[0].service_tiers.priority.prompt: must be a decimal number of USD in quotes, e.g. "0.0000025", not 0.000001',
    ],
  },
];

describe('a provider is refused with its place and what is allowed', () => {
  for (const { text, faults } of REFUSED) {
    test(faults[0]?.slice(3, 60) ?? '', () => assert.deepEqual(faultsOf(text), faults));
  }
});

test('a model of the configuration can make videos', () => {
  const { models } = ready(
    'gw',
    `providers:
  gw:
    type: openai-compatible
    base_url: http://127.0.0.1:1/v1
    models:
      - id: film
        video: { durations: [4, 8], aspect_ratios: ["16:9"], negative_prompt: true, defaults: { aspect_ratio: "16:9" }, prices: { per-video-second: "0.1" } }
`,
  );
  assert.ok(Array.isArray(models));
  assert.deepEqual(models[0]?.outputModalities, ['video']);
  assert.deepEqual(models[0]?.video, {
    durations: [4, 8],
    aspectRatios: ['16:9'],
    negativePrompt: true,
    defaults: { aspectRatio: '16:9' },
    prices: { 'per-video-second': '0.1' },
  });
});
