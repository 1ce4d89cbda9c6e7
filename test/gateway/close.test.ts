/** The end of the gateway: what it waits for, and what it doesn't. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { ask, startTestGateway } from './harness.ts';

test('closing waits for no connection on which nothing was asked', { timeout: 10_000 }, async (context) => {
  const gateway = await startTestGateway();
  const { hostname, port } = new URL(gateway.url);
  const spare = connect(Number(port), hostname);
  context.after(() => spare.destroy());
  await once(spare, 'connect');
  const ended = once(spare, 'close');
  // An answer to a later connection shows that the gateway has taken the spare one.
  const answer = await ask(gateway, { protocol: 'chat', model: 'sandbox/echo', text: 'hi' });
  assert.equal(answer.status, 200);
  await answer.text();
  await gateway.close();
  await ended;
});
