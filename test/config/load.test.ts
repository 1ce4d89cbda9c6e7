// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { findConfig } from '../../src/config/location.ts';
import { configOf, FILE, faultsOf, sourceWith } from './sources.ts';

describe('a configuration without a file', () => {
  test('has every default', () => {
    const config = configOf('');
    assert.deepEqual(config.server, {
      host: '127.0.0.1',
      port: 8080,
      publicUrl: undefined,
      trustedProxies: [],
      prefixes: { messages: 'anthropic', generate: 'gemini' },
      workers: 1,
      bodyLimit: 20 * 1024 * 1024,
      bodyMemory: undefined,
      connectionsPerAddress: 1000,
      websockets: true,
      websocketsPerKey: 100,
      deadlines: { connect: 5_000, firstByte: 300_000, idle: 120_000, total: 1_800_000 },
      drain: 0,
      keepAlive: 15_000,
    });
    assert.equal(config.data, resolve('data'));
    assert.deepEqual(config.keys, []);
  });

  test('names the variable of a problem, and no file', () => {
    const environment = { OPENAI_API_KEY: '"sk-quoted"' };
    assert.throws(() => loadConfig({ environment, known: sourceWith().known }), {
      message:
        'providers.openai.api_key: OPENAI_API_KEY has quotes around it, which belong to no key; docker --env-file keeps those of its file',
    });
  });

  test('takes an empty section for an absent one', () => {
    assert.equal(configOf('server:\nkeys:\nproviders:\n  sandbox:\n').server.port, 8080);
  });
});

describe('a configuration file', () => {
  test('sets everything it names', () => {
    const config = configOf(`
server:
  host: 0.0.0.0
  port: 9000
  public_url: https://gw.example.com/
  prefixes: { messages: claude, generate: google/ai }
  workers: 4
  body_limit: 512KiB
  body_memory: 64MiB
  connections_per_address: 30
  websockets: false
  websockets_per_key: 7
  deadlines: { connect: 500ms, first_byte: 1m, idle: 2s, total: 1h }
  keep_alive: 3s
data: /var/lib/polygate
keys: [{ name: ci, key: 0123456789abcdef, models: ["openai/*"], expires: 2030-01-31 }]
`);
    assert.deepEqual(config.server, {
      host: '0.0.0.0',
      port: 9000,
      publicUrl: 'https://gw.example.com',
      trustedProxies: [],
      prefixes: { messages: 'claude', generate: 'google/ai' },
      workers: 4,
      bodyLimit: 512 * 1024,
      bodyMemory: 64 * 1024 * 1024,
      connectionsPerAddress: 30,
      websockets: false,
      websocketsPerKey: 7,
      deadlines: { connect: 500, firstByte: 60_000, idle: 2_000, total: 3_600_000 },
      drain: 5_000,
      keepAlive: 3_000,
    });
    assert.equal(config.data, resolve('/var/lib/polygate'));
    assert.equal(config.keys[0]?.key.reveal(), '0123456789abcdef');
    assert.deepEqual(config.keys[0]?.settings.models, ['openai/*']);
    assert.equal(config.keys[0]?.expires, Date.UTC(2030, 0, 31));
  });

  test('gives way to the command line', () => {
    const file = resolve(import.meta.dirname, 'example.yaml');
    const { server } = loadConfig({ ...sourceWith(), file, host: '::1', port: 0 });
    assert.equal(server.host, '::1');
    assert.equal(server.port, 0);
    assert.equal(loadConfig({ ...sourceWith(), file }).server.port, 8081);
  });

  test('that is named but missing, or a folder, is an error with its name', () => {
    assert.throws(() => loadConfig({ ...sourceWith(), ...findConfig('no-such-file.yaml') }), {
      message: `${resolve('no-such-file.yaml')}: no such file`,
    });
    // Docker makes a folder of a file that it is to mount and does not find.
    assert.throws(() => loadConfig({ ...sourceWith(), ...findConfig('test') }), {
      message: `${resolve('test')}: is a folder, not a file`,
    });
  });

  test('knows anchors and merge keys', () => {
    const { providers } = configOf(`
providers:
  one: &local { type: openai-compatible, base_url: "http://127.0.0.1:1" }
  two: { <<: *local, base_url: "http://127.0.0.1:2" }
`);
    assert.deepEqual(
      providers
        .filter(({ type }) => type === 'openai-compatible')
        .map((entry) => entry.state === 'ready' && entry.baseUrl),
      ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
    );
  });
});

describe('the environment in a file', () => {
  test('fills in references, whole or in part, with numbers where numbers stand', () => {
    const config = configOf('server: { host: "${HOST}", port: "${PORT:-9999}", public_url: "https://${NAME}.test" }', {
      HOST: '127.0.0.2',
      NAME: 'gw',
    });
    assert.equal(config.server.host, '127.0.0.2');
    assert.equal(config.server.port, 9999);
    assert.equal(config.server.publicUrl, 'https://gw.test');
    assert.equal(configOf('server:\n  port: ${PORT}', { PORT: '81' }).server.port, 81);
  });

  test('replaces an empty variable by the default', () => {
    assert.equal(configOf('data: "${DATA:-/d}"', { DATA: '' }).data, resolve('/d'));
    assert.equal(configOf('data: "${DATA:-/d}"', { DATA: '/e' }).data, resolve('/e'));
  });

  test('keeps what is escaped', () => {
    assert.equal(configOf('data: "/$${DATA}"').data, resolve('/${DATA}'));
  });

  test('becomes a number also where a word is allowed, or a fraction', () => {
    const workers = (value: string) => configOf('server: { workers: "${N}" }', { N: value }).server.workers;
    assert.equal(workers('3'), 3);
    assert.ok(workers('auto') >= 1);
    const text =
      'models: { a/b: { endpoints: [{ provider: sandbox, model: echo, weight: "${WEIGHT:-0.5}" }] } }\n' +
      'callbacks: { secret: 0123456789abcdef }\nnotices: { webhook: "https://hooks.example.com/", at: ["${SHARE}"] }';
    const { routing, notices } = configOf(text, { SHARE: '0.25' });
    assert.equal(routing.models.get('a/b')?.[0]?.weight, 0.5);
    assert.deepEqual(notices?.at, [0.25]);
    assert.deepEqual(faultsOf('server: { workers: "${N}" }', { N: 'many' }), [
      '1: server.workers: must be an integer or "auto", not "many"',
    ]);
  });

  test('never becomes YAML of its own', () => {
    assert.equal(configOf('data: "${DATA}"', { DATA: '{ a: 1 } # no' }).data, resolve('{ a: 1 } # no'));
  });

  test('must have what is referred to', () => {
    assert.deepEqual(faultsOf('\nkeys:\n  - name: ci\n    key: "${CI_KEY}"'), [
      '4: keys[0].key: needs the environment variable CI_KEY, which is not set; ${NAME:-default} allows that',
    ]);
    assert.deepEqual(faultsOf('data: "${not a name}"'), [
      '1: data: has a "${" that is no reference; write ${NAME} or ${NAME:-default}, or $${ for the characters',
    ]);
  });

  test('is not needed by what is switched off', () => {
    assert.ok(configOf('providers: { openai: { enabled: false, base_url: "${NOT_SET}" } }'));
  });
});

const DATABASE_URL_FAULT =
  '1: data: must be a URL of one host, with a port up to 65535, and with @ : / ? # in the password as %40 %3A %2F %3F %23';

const REFUSED: { about: string; text: string; faults: string[] }[] = [
  {
    about: 'an unknown field, with the nearest known one',
    text: '\nserver:\n  prot: 80\n',
    faults: [
      '3: server.prot: unknown field; did you mean port?; allowed: host, port, public_url, trusted_proxies, prefixes, workers, body_limit, body_memory, connections_per_address, websockets, websockets_per_key, deadlines, drain, keep_alive',
    ],
  },
  {
    about: 'an unknown field that is like none',
    text: 'clusters: true',
    faults: [
      '1: clusters: unknown field; allowed: server, data, catalog, encryption, network, callbacks, notices, videos, responses, usage, limits, key_defaults, tags, admin, ui, telemetry, keys, providers, models, aliases, default_model, routing',
    ],
  },
  {
    about: 'every fault at once, in the order of the file',
    text: 'server:\n  port: 70000\n  body_limit: 20GB\n  keep_alive: soon\n  public_url: ftp://x',
    faults: [
      '2: server.port: must be an integer between 0 and 65535, not 70000',
      '3: server.body_limit: must be a size such as 512KiB or 20MiB',
      '4: server.keep_alive: must be a duration such as 500ms, 10s, 5m or 1h (at most 99h)',
      '5: server.public_url: must be an http:// or https:// URL without credentials, query or fragment',
    ],
  },
  {
    about: 'less memory for bodies than one may take',
    text: 'server:\n  body_limit: 20MiB\n  body_memory: 19MiB',
    faults: ['3: server.body_memory: must not be less than server.body_limit'],
  },
  {
    about: 'a key and a key file',
    text: `encryption: { key: ${'A'.repeat(43)}=, key_file: k }`,
    faults: ['1: encryption.key_file: conflicts with key; set only one of them'],
  },
  {
    about: 'a short encryption key',
    text: 'encryption: { key: abc }',
    faults: ['1: encryption.key: must be 32 bytes as base64, e.g. from: openssl rand -base64 32'],
  },
  {
    about: 'notices without a secret',
    text: 'notices: { webhook: "https://ops.example.org/" }',
    faults: ['1: notices.webhook: needs callbacks.secret, which signs it'],
  },
  {
    about: 'notices to an address that webhooks may not have',
    text: 'callbacks: { secret: whsec_0123456789abcdef }\nnotices: { webhook: "http://ops.example.org/" }',
    faults: [
      '2: notices.webhook: is refused: only https addresses on the public internet are allowed. callbacks.allow_cidrs and allow_hosts allow others',
    ],
  },
  {
    about: 'facts about models over a connection that others may change',
    text: 'catalog: { source: "http://facts.example.org/" }',
    faults: ['1: catalog.source: must be an https URL'],
  },
  {
    about: 'a secret of webhooks that is too short',
    text: 'callbacks: { secret: short }',
    faults: ['1: callbacks.secret: must be at least 16 characters long'],
  },
  {
    about: 'a secret of webhooks that libraries cannot read',
    text: 'callbacks: { secret: "whsec_not in base64!" }',
    faults: ['1: callbacks.secret: must have base64 after whsec_, as of `openssl rand -base64 32`'],
  },
  {
    about: 'a callback time-out beyond what is allowed',
    text: 'callbacks: { timeout: 31s }',
    faults: ['1: callbacks.timeout: must be 1s to 30s'],
  },
  {
    about: 'a certificate that is not there',
    text: 'callbacks: { ca_file: /no/such.pem }',
    faults: ["1: callbacks.ca_file: /no/such.pem: ENOENT: no such file or directory, open '/no/such.pem'"],
  },
  {
    about: 'an S3 mirror without its address',
    text: 'videos: { mirror: s3 }',
    faults: ['1: videos.s3: is needed for mirror: s3'],
  },
  {
    about: 'an S3 store that nothing uses',
    text: 'videos: { s3: { endpoint: https://s3.example.com, bucket: videos, access_key_id: a, secret_access_key: b } }',
    faults: ['1: videos.s3: has no effect; set mirror: s3'],
  },
  {
    about: 'signed URLs that hold too long',
    text: 'videos: { url_lifetime: 8d }',
    faults: ['1: videos.url_lifetime: must be 1h to 7d'],
  },
  {
    about: 'a database that is not supported',
    text: 'data: mysql://localhost/polygate',
    faults: ['1: data: must be a folder or a postgres:// URL'],
  },
  {
    about: 'a URL of a database without its slashes',
    text: 'data: postgres:/user:password@localhost/polygate',
    faults: ['1: data: must be a folder or a postgres:// URL'],
  },
  {
    about: 'a URL of a database whose password is not encoded',
    text: "data: 'postgres://user:pass@word:a/b@localhost/polygate'",
    faults: [DATABASE_URL_FAULT],
  },
  {
    about: 'a URL of a database with two hosts',
    text: "data: 'postgres://user@one:5432,two:5432/polygate'",
    faults: [DATABASE_URL_FAULT],
  },
  ...[
    'postgres://user@one,two/polygate',
    'postgres://user:12/3@localhost/polygate',
    'postgres://user:1?x@localhost/polygate',
    'postgres://user:1#x@localhost/polygate',
    'postgres://user:a@/b@localhost/polygate',
    'postgres://user@localhost:99999/polygate',
  ].map((url) => ({ about: `the URL of a database ${url}`, text: `data: '${url}'`, faults: [DATABASE_URL_FAULT] })),
  {
    about: 'prefixes that get in the way of others',
    text: 'server:\n  prefixes: { messages: v1, generate: v1 }',
    faults: [
      '2: server.prefixes: must differ from each other',
      '2: server.prefixes.messages: must not begin with v1, which is taken',
      '2: server.prefixes.generate: must not begin with v1, which is taken',
    ],
  },
  {
    about: 'keys that are short, twice there or out of the calendar',
    text: 'keys:\n  - { name: a, key: short }',
    faults: ['2: keys[0].key: must be 16 to 200 characters without spaces'],
  },
  {
    about: 'two keys of one name and a date that does not exist',
    text: 'keys:\n  - { name: a, key: 0123456789abcdef, expires: 2030-13-31 }\n  - { name: a, key: 0123456789abcdeg }',
    faults: ['2: keys[0].expires: must be a date that exists', '3: keys[1].name: is taken by another key, "a"'],
  },
  {
    about: 'addresses that have the form of one and are none',
    text: `server: { public_url: "http://[::1" }
admin: { public_url: "https://a.test:99999" }
telemetry: { otlp: { endpoint: "http://:::/" } }
videos: { mirror: s3, s3: { endpoint: "https://a.test:99999", bucket: bucket, access_key_id: i, secret_access_key: s } }
usage: { export: { s3: { endpoint: "https://[zz]", bucket: bucket, access_key_id: i, secret_access_key: s } } }
callbacks: { allow_cidrs: [10.0.0.0/8, 10.0.0.0/99], deny_cidrs: [999.0.0.0/8] }`,
    faults: [
      '1: server.public_url: is no valid URL',
      '2: admin.public_url: is no valid URL',
      '3: telemetry.otlp.endpoint: is no valid URL',
      '4: videos.s3.endpoint: is no valid URL',
      '5: usage.export.s3.endpoint: is no valid URL',
      '6: callbacks.allow_cidrs[1]: must be an address range such as 10.0.0.0/8 or fd00::/8',
      '6: callbacks.deny_cidrs[0]: must be an address range such as 10.0.0.0/8 or fd00::/8',
    ],
  },
  {
    about: 'name servers that have the form of an address and are none',
    text: 'network: { dns_servers: [10.0.0.2, "[fd00::2]:53", 999.1.1.1, "10.0.0.2:99999", "[:::]"] }',
    faults: [
      '1: network.dns_servers[2]: must be an address such as 10.0.0.2, 10.0.0.2:53 or [fd00::2]:53',
      '1: network.dns_servers[3]: must be an address such as 10.0.0.2, 10.0.0.2:53 or [fd00::2]:53',
      '1: network.dns_servers[4]: must be an address such as 10.0.0.2, 10.0.0.2:53 or [fd00::2]:53',
    ],
  },
  {
    about: 'a proxy of another protocol',
    text: 'network: { proxy: "socks5://user:of-the-proxy@p:1080" }',
    faults: ['1: network.proxy: must be an http:// or https:// URL without a path, such as http://proxy.example:3128'],
  },
  {
    about: 'a proxy with a path',
    text: 'network: { proxy: "http://proxy.example/path" }',
    faults: ['1: network.proxy: must be an http:// or https:// URL without a path, such as http://proxy.example:3128'],
  },
  {
    about: 'hosts that are reached without a proxy, and no proxy',
    text: 'network: { no_proxy: [vllm.internal] }',
    faults: ['1: network.no_proxy: is for network.proxy, which is not set'],
  },
  {
    about: 'two keys of one text, of which only one could be used',
    text: 'keys:\n  - { name: a, key: 0123456789abcdef }\n  - { name: b, key: 0123456789abcdef }',
    faults: ['3: keys[1].key: is that of another key, "a"'],
  },
  {
    about: 'a day that its month does not have',
    text: 'keys: [{ name: a, key: 0123456789abcdef, expires: 2030-02-30 }]',
    faults: ['1: keys[0].expires: must be a date that exists'],
  },
  {
    about: 'text that is no YAML',
    text: 'server:\n  port: 1\n  port: 2',
    faults: ['3: duplicated mapping key'],
  },
  {
    about: 'a reference without quotes between braces, where YAML takes its brace for its own',
    text: 'server:\n  { host: ${HOST} }',
    faults: ['2: missed comma between flow collection entries; between braces, put quotes around "${NAME}"'],
  },
  {
    about: 'a brace that is not closed',
    text: 'server: { port: 1\nkeys: []',
    faults: ['2: deficient indentation; a quote, brace or bracket before it may not be closed'],
  },
  {
    about: 'a value with a colon and a space',
    text: 'keys:\n  - name: a\n    key: abc: def',
    faults: ['3: bad indentation of a mapping entry; a value with ": " in it needs quotes'],
  },
  {
    about: 'a colon without its space',
    text: 'server:\n  port:8080',
    faults: ['1: server: must be an object, not "port:8080"; a space is needed after a colon'],
  },
  {
    about: 'a configuration of LiteLLM',
    text: 'model_list:\n  - model_name: gpt-4o',
    faults: ['1: model_list: is of a configuration of LiteLLM: polygate import litellm FILE takes it over'],
  },
  {
    about: 'fields of a provider that stand beside it',
    text: 'providers:\n  openai:\n  api_key: k',
    faults: [
      '3: providers.api_key: must be an object, not a string; it is a field of a provider: indent it below the id of one',
    ],
  },
  {
    about: 'an endpoint by its name alone',
    text: 'models: { team/fast: { endpoints: [openai/gpt-5-mini, fireworks/accounts/a/m] } }',
    faults: [
      '1: models.team/fast.endpoints[0]: must be an object, not "openai/gpt-5-mini"; write { provider: openai, model: gpt-5-mini }',
      '1: models.team/fast.endpoints[1]: must be an object, not "fireworks/accounts/a/m"; write { provider: fireworks, model: accounts/a/m }',
    ],
  },
  {
    about: 'a model without a group',
    text: 'models:\n  fast: { endpoints: [{ provider: sandbox, model: echo }] }',
    faults: [
      '2: models.fast: is not a valid model name; it has the form <group>/<model>, such as team/fast; with aliases: { fast: team/fast } clients may ask for fast',
    ],
  },
  {
    about: 'a model by its name alone',
    text: 'providers:\n  ollama:\n    models: [llama]',
    faults: ['3: providers.ollama.models[0]: must be an object, not "llama"; a model is listed as { id: NAME }'],
  },
  {
    about: 'references in the syntax of other programs, which would be secrets that anybody can guess',
    text: `keys: [{ name: ci, key: $CI_KEY }, { name: dev, key: "{env.A_VARIABLE_FOR_THE_KEY}" }]
providers:
  openai: { api_key: os.environ/OPENAI_API_KEY }
  google: { api_keys: [own, "{{ SECOND }}"] }
  ollama: { enabled: false, api_key: $NOT_READ }
admin: { token: "$A_VARIABLE_FOR_THE_TOKEN_OF_OPERATORS" }`,
    faults: [
      '1: keys[0].key: "$CI_KEY" is no reference to a variable; write "${CI_KEY}"',
      '1: keys[1].key: "{env.A_VARIABLE_FOR_THE_KEY}" is no reference to a variable; write "${A_VARIABLE_FOR_THE_KEY}"',
      '3: providers.openai.api_key: "os.environ/OPENAI_API_KEY" is no reference to a variable; write "${OPENAI_API_KEY}"',
      '4: providers.google.api_keys[1]: "{{ SECOND }}" is no reference to a variable; write "${SECOND}"',
      '6: admin.token: "$A_VARIABLE_FOR_THE_TOKEN_OF_OPERATORS" is no reference to a variable; write "${A_VARIABLE_FOR_THE_TOKEN_OF_OPERATORS}"',
    ],
  },
  { about: 'a file that is no object', text: '- server', faults: ['1: must be an object, not an array'] },
];

describe('a configuration is refused for', () => {
  for (const { about, text, faults } of REFUSED) {
    test(about, () => assert.deepEqual(faultsOf(text), faults));
  }

  test('a value that contains itself, and a second document', () => {
    assert.deepEqual(faultsOf('server: &s { deadlines: *s }'), ['1: has aliases that stand for too many values']);
    assert.deepEqual(faultsOf('server: {}\n---\nserver: {}'), ['1: must be one document']);
  });

  test('the field that is wrong, behind an alias, a merge and a name with dots', () => {
    const text = [
      'providers:',
      '  sandbox: &local',
      '    enabled: nope',
      '  a.b:',
      '    <<: *local',
      '    headers:',
      '      x-one: 1',
      '  ollama: *local',
    ].join('\n');
    assert.deepEqual(
      faultsOf(text).map((line) => line.slice(0, line.indexOf(' must'))),
      [
        '3: providers.sandbox.enabled:',
        '3: providers.ollama.enabled:',
        '4: providers.a.b.enabled:',
        '7: providers.a.b.headers.x-one:',
      ],
    );
  });

  test('a bomb of aliases', () => {
    const bomb = `a: &a [1]\n${Array.from({ length: 9 }, (_, level) => `${'bcdefghij'[level]}: &${'bcdefghij'[level]} [${Array(9).fill(`*${'abcdefghij'[level]}`)}]`).join('\n')}`;
    assert.match(faultsOf(bomb)[0] ?? '', /alias/);
  });
});

test('no refusal shows a credential', () => {
  const secret = 'sk-abcdefghijklmnopqrstuvwxyz';
  for (const text of [`providers: { openai: ${secret} }`, `providers: ${secret}`, `keys: [${secret}]`]) {
    assert.ok(!faultsOf(text).join('\n').includes('abcdefghij'), text);
  }
});

// The keys of many vendors have no mark by which they are found in a text.
test('no refusal shows a credential that is in the place of an object or a list', () => {
  const SECRET = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
  for (const text of [
    'providers: "${SECRET}"',
    'providers: { mistral: "${SECRET}" }',
    'providers: { mistral: { api_keys: "${SECRET}" } }',
    'providers: { mistral: { headers: "${SECRET}" } }',
    'keys: "${SECRET}"',
    'keys: ["${SECRET}"]',
    'admin: "${SECRET}"',
    'encryption: "${SECRET}"',
    'telemetry: { otlp: { endpoint: "http://a.test", headers: "${SECRET}" } }',
  ]) {
    const faults = faultsOf(text, { SECRET }).join('\n');
    assert.match(faults, /must be an (object|array), not a string$/m, text);
    assert.ok(!faults.includes(SECRET), faults);
  }
});

test('no refusal shows a credential that is taken for a number', () => {
  for (const text of [
    'providers: { openai: { api_key: 1234567890123456 } }',
    'providers: { openai: { api_keys: [1234567890123456] } }',
    'providers: { openai: { headers: { x-key: 1234567890123456 } } }',
    'telemetry: { otlp: { endpoint: "http://a.test", headers: { x-key: 1234567890123456 } } }',
    'keys: [{ name: a, key: 1234567890123456 }]',
    'callbacks: { secret: 1234567890123456 }',
    'notices: { webhook: 1234567890123456 }',
    'admin: { token: 1234567890123456 }',
    'encryption: { key: 1234567890123456 }',
    'encryption: { previous_keys: [1234567890123456] }',
    'videos: { s3: { endpoint: "http://a.test", bucket: bucket, access_key_id: i, secret_access_key: 1234567890123456 } }',
  ]) {
    const faults = faultsOf(text).join('\n');
    assert.match(faults, /, not a number$/m, text);
    assert.ok(!faults.includes('1234567890'), faults);
  }
});

test('the file of a configuration is remembered', () => {
  assert.equal(configOf('').origin, FILE);
});

test('a gateway on loopback stops accepting at once unless it is told otherwise', () => {
  const drainOf = (server: string) => configOf(`server: { ${server} }`).server.drain;
  assert.equal(drainOf('host: "::1"'), 0);
  assert.equal(drainOf('host: "::1", drain: 1m'), 60_000);
  assert.equal(drainOf('host: 10.0.0.1'), 5_000);
  assert.equal(drainOf('host: 10.0.0.1, drain: 0s'), 0);
  assert.deepEqual(faultsOf('server: { drain: soon }'), [
    '1: server.drain: must be a duration such as 0s, 500ms, 5s or 1m',
  ]);
});

describe('YAML in place of a file', () => {
  const load = (text: string) => {
    const { file: _, ...source } = sourceWith();
    return loadConfig({ ...source, ...findConfig(text) });
  };

  test('has several lines or begins with a brace', () => {
    for (const text of ['\nserver: { port: 81 }', 'server:\n  port: 81', '{ server: { port: 81 } }']) {
      const { server, origin } = load(text);
      assert.deepEqual([server.port, origin], [81, 'POLYGATE_CONFIG']);
    }
    assert.deepEqual(findConfig('./{a}.yaml'), { file: resolve('{a}.yaml') });
  });

  test('is refused with the lines of what is wrong', () => {
    assert.throws(() => load('server:\n  port: x'), {
      message: 'POLYGATE_CONFIG:2: server.port: must be an integer between 0 and 65535, not "x"',
    });
  });
});
