/** The search of a body for state of other upstreams: of small bodies by their bytes, of large ones by their members. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cancellation } from '../../src/core/cancellation.ts';
import { wrap } from '../../src/core/opaque.ts';
import { plan } from '../../src/inference/request/plan.ts';
import type { Plan } from '../../src/inference/request/planned-request.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { bareProvider, callOf, endpointAt } from '../fuzz/delivery.ts';

const chat = protocolOf('chat');
const SEARCHED_BYTES = 256 * 1024;

interface Planned {
  planned: Plan;
  /** Times that the bytes of the body were searched for a text. */
  searches: number;
}

/** `details` are the reasoning of an earlier answer. */
async function planWith(length: number, details?: object[]): Promise<Planned> {
  const earlier = details ? [{ role: 'assistant', content: '', reasoning_details: details }] : [];
  const body = { model: 'm', messages: [...earlier, { role: 'user', content: ' '.repeat(length) }] };
  const bytes = Buffer.from(JSON.stringify(body));
  let searches = 0;
  bytes.includes = ((text: string) => {
    searches += 1;
    return bytes.indexOf(text) >= 0;
  }) as Buffer['includes'];
  const options = { prepare: async () => {}, memory: createStateMemory(), client: new Cancellation() };
  const planned = await plan(callOf(chat, bytes, body), endpointAt(bareProvider('chat'), {}), options);
  return { planned, searches };
}

test('the bytes of a large body are not searched', async () => {
  assert.notEqual((await planWith(1000)).searches, 0);
  for (const length of [SEARCHED_BYTES, 4 * SEARCHED_BYTES]) {
    const { planned, searches } = await planWith(length);
    assert.equal(searches, 0, `${length} bytes`);
    assert.equal(planned.path, 'passthrough');
  }
});

test('state of another upstream is taken out of small and of large bodies', async () => {
  const data = wrap({ kind: 'encrypted', value: 'secret', origin: 'elsewhere' });
  for (const length of [1000, 4 * SEARCHED_BYTES]) {
    const { planned } = await planWith(length, [{ type: 'reasoning.encrypted', data }]);
    assert.equal(planned.path, 'patched', `${length} bytes`);
    assert.equal(Buffer.concat([planned.body].flat()).includes(data), false);
  }
});
