/** The settings of use, limits, administration and telemetry. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { effectiveSettings } from '../../src/config/effective.ts';
import { configOf, faultsOf } from './sources.ts';

describe('use and limits', () => {
  test('have defaults', () => {
    const { usage, allotments, admin, telemetry } = configOf('');
    assert.deepEqual(usage, {
      durability: 'strict',
      journal: 'shared',
      keep: 30 * 24 * 3600_000,
      maxSize: 5 * 1024 ** 3,
      trace: 'all',
    });
    assert.deepEqual(allotments, { keyDefaults: {}, tags: new Map() });
    assert.equal(admin, undefined);
    assert.deepEqual(telemetry, { otlp: undefined, propagate: false, budgetKeys: [] });
  });

  test('a key may do what its settings say', () => {
    const { keys } = configOf(`
keys:
  - name: ci
    key: a-key-of-sixteen-characters
    owner: Ana
    tags: { team: search }
    metadata: { cost_center: "4711" }
    models: ["openai/*"]
    surfaces: [chat, videos]
    cidrs: [10.0.0.0/8]
    limits: { requests_per_minute: 60 }
    model_limits: { "openai/*": { tokens_per_minute: 1000 } }
    budgets: { day: "2.50" }
`);
    assert.deepEqual(keys[0]?.settings, {
      owner: 'Ana',
      tags: { team: 'search' },
      metadata: { cost_center: '4711' },
      models: ['openai/*'],
      surfaces: ['chat', 'videos'],
      cidrs: ['10.0.0.0/8'],
      limits: { requestsPerMinute: 60 },
      modelLimits: { 'openai/*': { tokensPerMinute: 1000 } },
      budgets: { day: '2.50' },
    });
  });

  test('tags have limits and budgets, and keys defaults', () => {
    const { allotments } = configOf(`
key_defaults: { limits: { concurrent_requests: 4 }, budgets: { month: "20" } }
tags:
  team=search: { limits: { requests_per_minute: 60 }, budgets: { day: "5.00", total: null } }
  "mail=a.b@c:d": {}
`);
    assert.deepEqual(allotments, {
      keyDefaults: { limits: { concurrentRequests: 4 }, budgets: { month: '20' } },
      tags: new Map([
        ['team=search', { limits: { requestsPerMinute: 60 }, budgets: { day: '5.00' } }],
        ['mail=a.b@c:d', {}],
      ]),
    });
    const short = configOf('limits: { requests_per_minute: 7 }').allotments;
    assert.deepEqual(short.keyDefaults, { limits: { requestsPerMinute: 7 } });
    assert.match(faultsOf('tags: { Team: {} }')[0] ?? '', /tags\.Team: is not a tag such as team=search/);
    assert.match(faultsOf('tags: { team=a: { budgets: { year: "1" } } }')[0] ?? '', /unknown field/);
    const uncounted = faultsOf('limits: { concurrent_requests: 1e30 }')[0] ?? '';
    assert.match(uncounted, /limits\.concurrent_requests: must be an integer between 1 and 9007199254740991/);
    const both = 'limits: { requests_per_minute: 7 }\nkey_defaults: { limits: { requests_per_minute: 8 } }';
    assert.match(faultsOf(both)[0] ?? '', /limits: conflicts with key_defaults\.limits/);
  });

  test('both spellings of the limits of keys are shown as they are written', () => {
    const paths = (text: string) =>
      effectiveSettings(configOf(text)).settings.flatMap(({ path, value, source }) =>
        /limits|budgets/.test(path) ? [[path, value, source.from]] : [],
      );
    assert.deepEqual(paths('limits: { requests_per_minute: 7 }'), [['limits.requests_per_minute', 7, 'file']]);
    assert.deepEqual(
      paths('key_defaults: { limits: { requests_per_minute: 7 } }\ntags: { team=a: { budgets: { day: "1" } } }'),
      [
        ['key_defaults.limits.requests_per_minute', 7, 'file'],
        ['tags.team=a.budgets.day', '1', 'file'],
      ],
    );
  });

  test('keys of the file have the tags of key_defaults, marked as default where they do not say otherwise', () => {
    const keys = `keys:
  - { name: a, key: sk-of-a-0123456789abcdef }
  - { name: b, key: sk-of-b-0123456789abcdef, tags: { team: search, env: null } }
`;
    const tagsIn = (text: string) =>
      effectiveSettings(configOf(text)).settings.flatMap(({ path, value, source }) =>
        path.includes('tags') ? [[path, value, source.from]] : [],
      );
    assert.deepEqual(tagsIn(`${keys}key_defaults: { tags: { team: unassigned, env: dev } }`), [
      ['key_defaults.tags.team', 'unassigned', 'file'],
      ['key_defaults.tags.env', 'dev', 'file'],
      ['keys[0].tags.team', 'unassigned', 'default'],
      ['keys[0].tags.env', 'dev', 'default'],
      ['keys[1].tags.team', 'search', 'file'],
    ]);
    assert.match(faultsOf('key_defaults: { tags: { Team: a } }')[0] ?? '', /key_defaults\.tags\.Team: must be named/);
    const many = Array.from({ length: 16 }, (_, index) => `t${index}: x`).join(', ');
    const both = `keys: [{ name: a, key: sk-of-a-0123456789abcdef, tags: { ${many} } }]\nkey_defaults: { tags: { team: a } }`;
    assert.match(faultsOf(both)[0] ?? '', /keys\[0\]\.tags: must have at most 16 entries/);
  });

  test('the admin API needs a long token', () => {
    assert.equal(configOf(`admin: { token: ${'t'.repeat(32)} }`).admin?.port, 8081);
    assert.deepEqual(faultsOf('admin: { token: short }'), [
      '1: admin.token: must be at least 32 characters, e.g. from: openssl rand -hex 32',
    ]);
  });

  test('money, addresses and surfaces are checked', () => {
    const text = 'keys: [{ name: a, key: a-key-of-sixteen-characters, ';
    assert.deepEqual(faultsOf(`${text} budgets: { day: 2.5 } }]`), [
      '1: keys[0].budgets.day: must be USD in quotes, e.g. "25.00", not 2.5',
    ]);
    assert.deepEqual(faultsOf(`${text} budgets: { day: "-1" } }]`), [
      '1: keys[0].budgets.day: must be USD in quotes, e.g. "25.00"',
    ]);
    assert.deepEqual(faultsOf(`${text} cidrs: [example.com] }]`), [
      '1: keys[0].cidrs[0]: must be an address range such as 10.0.0.0/8 or fd00::/8, or one address',
    ]);
    assert.equal(faultsOf(`${text} surfaces: [audio] }]`).length, 1);
    assert.deepEqual(faultsOf(`${text} tags: { Team: search } }]`), [
      '1: keys[0].tags.Team: must be named with at most 32 lower-case letters, digits, _ and -, a letter first',
    ]);
    assert.deepEqual(faultsOf(`${text} tags: { team: "" } }]`), [
      '1: keys[0].tags.team: must be at most 64 letters, digits and . _ @ : -, a letter or digit first',
    ]);
  });
});
