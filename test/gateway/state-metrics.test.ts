/** The state of a gateway as operators see it: metrics of providers, endpoints, jobs, the store and budgets; its replicas. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { version } from '../../src/core/version.ts';
import type { Store } from '../../src/store/store.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { answerJson, ask, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789-0123';
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };
const KEY_OF_TEAM = 'sk-test-team-key-0123456789';

describe('state', () => {
  let upstream: TestUpstream;
  let gateway: TestGateway;
  let clock: ManualClock;
  let store: Store | undefined;
  let isReadable = true;
  /** What the store is asked for and never answers. */
  let stalled: string | undefined;
  let onStalled = () => {};

  before(async () => {
    upstream = await startUpstream(({ path }, response) => {
      const isDown = path.startsWith('/down');
      const answer = { choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }] };
      return answerJson(response, isDown ? { error: { message: 'Too much.' } } : answer, isDown ? 529 : 200);
    });
    const provider = (path: string) =>
      `{ type: openai-compatible, base_url: "${upstream.url}/${path}", api_key: sk-upstream-0123456789, models: [{ id: m }, { id: n }] }`;
    clock = createManualClock(Date.now());
    gateway = await startTestGateway(
      `
admin: { token: ${TOKEN}, port: 0 }
telemetry: { budget_keys: [team, absent] }
providers: { down: ${provider('down')}, up: ${provider('up')} }
models: { both/m: { endpoints: [{ provider: down, model: m }, { provider: up, model: m }] } }`,
      {
        clock,
        keys: [
          `{ name: team, key: ${KEY_OF_TEAM}, budgets: { day: "4.00" } }, { name: silent, key: ${KEY_OF_TEAM}-2, budgets: { day: "4.00" } }`,
        ],
        wrapStore(inner) {
          store = inner;
          const call: Store['call'] = async (name, parameters) => {
            if (name === stalled) {
              onStalled();
              return new Promise(() => {});
            }
            return isReadable || name !== 'jobFigures'
              ? inner.call(name, parameters)
              : Promise.reject(new Error('away'));
          };
          return { ...inner, call };
        },
      },
    );
  });
  after(async () => {
    await gateway.close();
    await upstream.close();
  });

  async function lines(): Promise<string[]> {
    const response = await fetch(`${gateway.url}/metrics`, { headers: AUTHORIZATION });
    assert.equal(response.status, 200);
    return (await response.text()).split('\n');
  }

  const withName = async (name: string) => (await lines()).filter((line) => line.startsWith(`polygate_${name}`));

  test('endpoints in cooldown rest: of a configured model all are shown, of others those that rest', async () => {
    const inCooldown = (endpoint: string, value: number) =>
      `polygate_endpoint_cooldown{provider="${endpoint.split('/')[0]}",model="both/m",endpoint="${endpoint}"} ${value}`;
    assert.deepEqual(await withName('endpoint_cooldown'), [inCooldown('down/m', 0), inCooldown('up/m', 0)]);
    for (const model of ['down/m', 'down/n']) await ask(gateway, { protocol: 'chat', model, text: 'hi' });
    assert.deepEqual(await withName('endpoint_cooldown'), [
      inCooldown('down/m', 1),
      inCooldown('up/m', 0),
      'polygate_endpoint_cooldown{provider="down",model="down/m",endpoint="down/m"} 1',
      'polygate_endpoint_cooldown{provider="down",model="down/n",endpoint="down/n"} 1',
    ]);
    clock.advance(3_600_000);
    assert.deepEqual(await withName('endpoint_cooldown'), [inCooldown('down/m', 0), inCooldown('up/m', 0)]);
  });

  test('providers with a credential are ready; those that wait for one are not listed', async () => {
    assert.deepEqual(await withName('provider_ready'), [
      'polygate_provider_ready{provider="down"} 1',
      'polygate_provider_ready{provider="up"} 1',
      'polygate_provider_ready{provider="sandbox"} 1',
    ]);
  });

  test('the store tells its size, its jobs, and the time since its last backup', async () => {
    const [size = ''] = await withName('store_bytes');
    assert.ok(Number(size.split(' ')[1]) > 8192, size);
    const [free = ''] = await withName('data_free_ratio');
    assert.ok(Number(free.split(' ')[1]) > 0 && Number(free.split(' ')[1]) <= 1, free);
    assert.deepEqual(await withName('last_backup_seconds'), []);
    await store?.call('noteMoment', { name: 'backup', at: clock.now() - 90_000 });
    assert.deepEqual(await withName('last_backup_seconds'), ['polygate_last_backup_seconds 90']);
    isReadable = false;
    assert.deepEqual(await withName('last_backup_seconds'), []);
    assert.equal((await withName('provider_ready')).length, 3);
    isReadable = true;
  });

  for (const [name, metric] of [
    ['jobFigures', 'store_bytes'],
    ['spentBy', 'budget_left_ratio'],
  ] as const) {
    test(`a store that does not answer ${name} holds up no metrics`, async () => {
      assert.notDeepEqual(await withName(metric), []);
      const asked = new Promise<void>((resolve) => {
        onStalled = resolve;
      });
      stalled = name;
      const shown = lines();
      await asked;
      clock.advance(5_000);
      assert.ok((await shown).every((line) => !line.startsWith(`polygate_${metric}`)));
      stalled = undefined;
      assert.notDeepEqual(await withName(metric), []);
    });
  }

  test('budgets are shown of those keys alone that are named for it', async () => {
    assert.deepEqual(await withName('budget_left_ratio'), ['polygate_budget_left_ratio{key="team",period="day"} 1']);
  });

  test('the version is there', async () => {
    assert.deepEqual(await withName('build_info'), ['polygate_build_info{version="test"} 1']);
  });
});

test('the admin API lists gateways that are alive, and their jobs', async (context) => {
  const gateway = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`);
  context.after(() => gateway.close());
  const path = `${gateway.adminUrl}/admin/v1/health/replicas`;
  const response = await fetch(path, { headers: AUTHORIZATION });
  assert.equal(response.status, 200);
  const { data, engine, jobs } = (await response.json()) as Json;
  assert.equal(engine, 'sqlite');
  assert.equal(data.length, 1);
  const [{ id, role, version: itsVersion, started_at, seen_at, silent, alive_until, answers }] = data;
  assert.deepEqual([itsVersion, answers, silent], [version, true, false]);
  assert.ok(Date.parse(seen_at) < Date.parse(alive_until));
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.equal(role, 'gateway');
  assert.ok(Date.parse(started_at) <= Date.parse(alive_until));
  const members = ['due', 'kind', 'leased', 'next_lease_ends_at', 'oldest_due_at'];
  for (const job of jobs) assert.deepEqual(Object.keys(job).sort(), members);
  assert.equal((await fetch(path)).status, 401);
  const unknown = await fetch(`${path}?all=1`, { headers: AUTHORIZATION });
  assert.equal(unknown.status, 400);
});
