/** Metrics of the gateway's state: read at each exposition, and absent while they cannot be read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { StateReadings, StoreState } from '../../src/telemetry/state-metrics.ts';

const STORE: StoreState = {
  jobs: [{ kind: 'webhook', due: 3, oldestSeconds: 12.5 }],
  bytes: 4096,
  backupSeconds: 60,
};

async function linesOf(readings: StateReadings): Promise<string[]> {
  const metrics = createMetrics({ version: '1.2.3', storeWritable: async () => true, readings });
  return (await metrics.text()).split('\n').filter((line) => /^(polygate|nodejs_active)_/.test(line));
}

function lineOf(lines: readonly string[], name: string): string[] {
  return lines.filter((line) => line.startsWith(`polygate_${name}`));
}

test('providers, endpoints, the store and budgets have a line each', async () => {
  let reads = 0;
  const lines = await linesOf({
    providers: () => [
      { id: 'openai', ready: true },
      { id: 'local', ready: false },
    ],
    endpoints: () => [{ provider: 'openai', model: 'team/best', endpoint: 'openai/gpt', inCooldown: true }],
    async store() {
      reads += 1;
      return STORE;
    },
    budgets: async () => [{ key: 'ci "1"', period: 'day', left: 0.25 }],
  });
  for (const line of [
    'polygate_build_info{version="1.2.3"} 1',
    'polygate_provider_ready{provider="openai"} 1',
    'polygate_provider_ready{provider="local"} 0',
    'polygate_endpoint_cooldown{provider="openai",model="team/best",endpoint="openai/gpt"} 1',
    'polygate_jobs_due{kind="webhook"} 3',
    'polygate_jobs_oldest_seconds{kind="webhook"} 12.5',
    'polygate_store_bytes 4096',
    'polygate_last_backup_seconds 60',
    'polygate_budget_left_ratio{key="ci \\"1\\"",period="day"} 0.25',
  ]) {
    assert.ok(lines.includes(line), `${line} in ${lines.join('\n')}`);
  }
  assert.equal(reads, 1);
});

test('a store that cannot be read leaves its lines out, and no others', async () => {
  const lines = await linesOf({ providers: () => [{ id: 'openai', ready: true }], store: () => Promise.reject() });
  assert.deepEqual(lineOf(lines, 'store_bytes'), []);
  assert.deepEqual(lineOf(lines, 'jobs_due'), []);
  assert.equal(lineOf(lines, 'provider_ready').length, 1);
  assert.equal(lineOf(lines, 'store_writable').length, 1);
});

test('before the first backup there is none to tell of', async () => {
  const { backupSeconds: _, ...store } = STORE;
  assert.deepEqual(lineOf(await linesOf({ store: async () => store }), 'last_backup_seconds'), []);
});

test('the series of one metric are bounded', async () => {
  const endpoints = Array.from({ length: 1500 }, (_, index) => {
    return { provider: 'p', model: `m${index}`, endpoint: `p/m${index}`, inCooldown: true };
  });
  assert.equal(lineOf(await linesOf({ endpoints: () => endpoints }), 'endpoint_cooldown').length, 1000);
});

test('no gauge has the name of a counter', async () => {
  const text = await createMetrics({ storeWritable: async () => true }).text();
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name);
  assert.ok(gauges.includes('nodejs_active_handles'));
  assert.deepEqual(
    gauges.filter((name) => name?.endsWith('_total')),
    [],
  );
});
