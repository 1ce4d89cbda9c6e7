/** The intent of a request in a service tier, which is charged if its gateway dies, has the price of the tier. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customModel } from '../../src/catalog/bundled.ts';
import { moneyOf } from '../../src/core/money.ts';
import { openUsageMeter } from '../../src/usage/meter.ts';
import type { Intent } from '../../src/usage/record.ts';
import type { Recorder } from '../../src/usage/recorder.ts';

const model = customModel('openai', { id: 'gpt-5', pricing: { prompt: '0.001', completion: '0.002' } });

async function intentIn(asked: string | undefined, optional?: string): Promise<Intent> {
  const intents: Intent[] = [];
  const recorder = { begin: async (intent: Intent) => void intents.push(intent) } as unknown as Recorder;
  const meter = openUsageMeter({
    recorder,
    request: {
      ...{ id: 'r', startedAt: 0, keyId: 'k', tags: '', toolFailures: undefined },
      ...{ model: 'openai/gpt-5', protocolIn: 'chat', stream: false, tier: asked },
    },
    free: false,
    isTiered: true,
    hasOutput: true,
    estimate: { input: () => 100, quickInput: () => 100 },
    settleLimits() {},
  });
  await meter.begin({ provider: 'openai', model, protocol: 'chat', tier: optional });
  assert.ok(intents[0]);
  return intents[0];
}

test('an intent is estimated at the price of the tier that is asked for', async () => {
  const costs = [undefined, 'auto', 'priority', 'flex'].map(async (tier) => (await intentIn(tier)).estimate.cost);
  assert.deepEqual(await Promise.all(costs), [moneyOf('0.1'), moneyOf('0.1'), moneyOf('0.2'), moneyOf('0.05')]);
  assert.equal((await intentIn(undefined, 'priority')).estimate.cost, moneyOf('0.2'));
});
