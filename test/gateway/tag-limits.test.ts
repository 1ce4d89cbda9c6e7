/** Limits and budgets of tags over HTTP: refusals in the words of each protocol, what a key is told, videos, and a reload. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import {
  answerJson,
  PATHS,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get, hear } from './usage-client.ts';
import { videoClient } from './video-client.ts';

const IDS = Object.keys(PATHS) as ProtocolId[];
const keyOf = (name: string): string => `sk-test-tagged-${name}-0123456789`;
const entry = (name: string, settings: string): string => `{ name: ${name}, key: ${keyOf(name)}, ${settings} }`;

let upstream: TestUpstream;
let gateway: TestGateway;
let yaml: (tags: string) => string;

const TAGS = [
  ...IDS.map((id) => `team=poor-${id}: { budgets: { day: "6" } }`),
  'team=often: { limits: { requests_per_minute: 2 } }',
  'team=films: { budgets: { total: "3" } }',
].join(', ');

before(async () => {
  upstream = await startUpstream(({ path }, response) => {
    if (path.includes('/videos')) return answerJson(response, { id: 'up-1', object: 'video', status: 'queued' });
    answerJson(response, WIRES.chat.whole);
  });
  // 1 input and 2 output tokens: 2 USD an answer.
  yaml = (tags) => `
${ADMIN_CONFIG}key_defaults: { budgets: { total: "400" } }
tags: { ${tags} }
videos: { mirror: off }
providers:
  a:
    type: openai-compatible
    base_url: "${upstream.url}/v1"
    models:
      - { id: m, pricing: { prompt: "0", completion: "1" } }
      - { id: wan, video: { durations: [4, 8], prices: { per-video-second: "0.50" } } }
`;
  const keys = [
    ...IDS.flatMap((id) => [
      entry(`one-${id}`, `tags: { team: poor-${id} }`),
      entry(`two-${id}`, `tags: { env: prod, team: poor-${id} }`),
    ]),
    entry('often-one', 'tags: { team: often }, limits: { requests_per_minute: 100 }'),
    entry('often-two', 'tags: { team: often }'),
    entry('film-one', 'tags: { team: films }'),
    entry('film-two', 'tags: { team: films }'),
    entry('moved', 'tags: { team: later }, budgets: { total: "50" }'),
  ];
  // A minute that has just begun does not end amid the test.
  const now = Date.now() - (Date.now() % 60_000) + 1000;
  gateway = await startTestGateway(yaml(TAGS), { keys, clock: { ...systemClock, now: () => now } });
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

const EXACT = { spent_estimated: '0', spent_videos: '0', unpriced_tokens: 0 };
const LIMITED = { chat: 'rate_limit_exceeded', messages: 'rate_limit_error', generate: 'RESOURCE_EXHAUSTED' };
const SPENT = { chat: 'insufficient_quota', messages: 'billing_error', generate: 'RESOURCE_EXHAUSTED' };

function errorIn(protocol: ProtocolId, text: string): { name: string; message: string } {
  const { error } = JSON.parse(text);
  return { name: { chat: error.code, messages: error.type, generate: error.status }[protocol], message: error.message };
}

for (const protocol of IDS) {
  describe(protocol, () => {
    const more = {
      chat: { max_tokens: 3 },
      messages: { max_tokens: 3 },
      generate: { generationConfig: { maxOutputTokens: 3 } },
    }[protocol];
    const ask = (name: string) => hear(gateway.url, { protocol, model: 'a/m', text: 'Hi', key: keyOf(name), more });

    test('two keys spend the budget of their tag, and are told which it is and when it resets', async () => {
      assert.equal((await ask(`one-${protocol}`)).status, 200);
      assert.equal((await ask(`two-${protocol}`)).status, 200);
      for (const name of ['one', 'two']) {
        const refused = await ask(`${name}-${protocol}`);
        assert.equal(refused.status, protocol === 'generate' ? 429 : 402, refused.text);
        const { name: code, message } = errorIn(protocol, refused.text);
        assert.equal(code, SPENT[protocol]);
        const expected = `Keys with the tag team=poor-${protocol} may spend 6 USD a day; 2 USD are left until `;
        assert.ok(message.startsWith(expected), message);
        assert.match(message, /T00:00:00\.000Z, and this request may cost 3 USD\.$/);
      }
      const { data } = (await get(gateway.url, '/v1/key', keyOf(`two-${protocol}`))).body;
      assert.deepEqual([data.usage, data.limit_remaining, data.budgets], [2, 398, { total: '400' }]);
      const { budgets, limits } = data.tags[`team=poor-${protocol}`];
      assert.deepEqual(limits, {});
      const { resets_at: resetsAt, ...day } = budgets.day;
      assert.deepEqual(day, { limit: '6', spent: '4', ...EXACT, held: '0', held_complete: true, left: '2' });
      assert.match(resetsAt, /T00:00:00\.000Z$/);
    });
  });
}

test('requests a minute of a tag: headers show the tightest limit', async () => {
  const ask = (name: string, protocol: ProtocolId = 'chat') =>
    hear(gateway.url, { protocol, model: 'a/m', text: 'Hi', key: keyOf(name), more: { max_tokens: 3 } });
  const [first, second] = [await ask('often-one'), await ask('often-two')];
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.equal(first.headers['x-ratelimit-limit-requests'], '2');
  assert.equal(first.headers['x-ratelimit-remaining-requests'], '1');
  assert.equal(second.headers['x-ratelimit-remaining-requests'], '0');
  for (const protocol of ['chat', 'messages'] as const) {
    const refused = await ask('often-one', protocol);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers['x-ratelimit-remaining-requests'], '0');
    assert.ok(Number(refused.headers['retry-after']) > 0);
    const { name, message } = errorIn(protocol, refused.text);
    assert.equal(name, LIMITED[protocol]);
    assert.match(
      message,
      /^Keys with the tag team=often may use 2 requests a minute, of which 0 are left for \d+ s\.$/,
    );
  }
});

test('a key whose tag has a budget may not let an upstream choose the model', async () => {
  const more = { fallbacks: [{ model: 'other' }] };
  const refused = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key: keyOf('moved'), more });
  assert.equal(refused.status, 403, refused.text);
});

test('an open video is held from the budget of its tag', async () => {
  const asked = { model: 'a/wan', prompt: 'a cat', duration: 4, resolution: undefined };
  await videoClient(gateway, keyOf('film-one')).create(asked);
  const refused = await videoClient(gateway, keyOf('film-two')).send('POST', '/v1/videos', asked);
  assert.equal(refused.status, 402, JSON.stringify(refused.body));
  assert.match(refused.body.error.message, /^Keys with the tag team=films may spend 3 USD in all; 1 USD are left, and/);
  const { data } = (await get(gateway.url, '/v1/key', keyOf('film-two'))).body;
  assert.deepEqual(data.tags['team=films'].budgets, {
    total: { limit: '3', spent: '0', ...EXACT, held: '2', held_complete: true, left: '1', resets_at: null },
  });
  const own = (await get(gateway.url, '/v1/key', keyOf('film-one'))).body.data;
  assert.deepEqual([own.held, data.held], [{ total: '2' }, { total: '0' }]);
  const keys = (await askAdmin(gateway.adminUrl, 'GET', '/keys')).body.data;
  assert.deepEqual(keys.find(({ name }: Json) => name === 'film-one').held, { total: '2' });
});

test('the operator sees tags of keys and of the configuration, page by page', async () => {
  const list = async (query = '') => (await askAdmin(gateway.adminUrl, 'GET', `/tags${query}`)).body;
  const { data, total, next } = await list();
  assert.deepEqual([total, next], [data.length, null]);
  const tags = data.map(({ tag }: Json) => tag);
  assert.deepEqual(tags, tags.toSorted());
  const find = (tag: string) => data.find((one: Json) => one.tag === tag);
  const { resets_at: resetsAt, ...day } = find('team=poor-chat').budgets.day;
  assert.deepEqual(day, { limit: '6', spent: '4', ...EXACT, held: '0', held_complete: true, left: '2' });
  assert.match(resetsAt, /T00:00:00/);
  assert.deepEqual([find('team=poor-chat').keys, find('team=poor-chat').origin], [2, 'configuration']);
  assert.deepEqual(find('team=often').limits, { requests_per_minute: 2 });
  const { keys, origin, budgets, spent } = find('env=prod');
  assert.deepEqual([keys, origin, budgets], [IDS.length, null, {}]);
  assert.equal(Number(spent.total), 2 * IDS.length);
  const first = await list('?limit=2');
  assert.deepEqual([first.data.length, first.next], [2, tags[1]]);
  const second = await list(`?limit=100&after=${encodeURIComponent(first.next)}`);
  assert.deepEqual(
    [...first.data, ...second.data].map(({ tag }: Json) => tag),
    tags,
  );
  const wrong = await askAdmin(gateway.adminUrl, 'GET', '/tags?after=x');
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'after']);
});

test('a budget that a reload brings counts what was spent before', async () => {
  const ask = () =>
    hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key: keyOf('moved'), more: { max_tokens: 3 } });
  assert.equal((await ask()).status, 200);
  const moved = entry('moved', 'tags: { team: later }, budgets: { total: "50" }');
  assert.deepEqual(gateway.reload(yaml(`${TAGS}, team=later: { budgets: { month: "4" } }`), moved), []);
  const refused = await ask();
  assert.equal(refused.status, 402);
  assert.match(refused.text, /tag team=later may spend 4 USD a month; 2 USD are left until/);
  gateway.reload(yaml(TAGS), moved);
  assert.equal((await ask()).status, 200);
});
