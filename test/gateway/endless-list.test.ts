/** A list of models without an end does not fill the memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway, startUpstream } from './harness.ts';

test('it is given up, and the provider goes on without', async () => {
  const piece = Buffer.alloc(1024 * 1024, ' ');
  const upstream = await startUpstream((_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const write = (): void => void response.write(piece);
    response.on('drain', write);
    write();
  });
  const gateway = await startTestGateway(`
providers:
  p: { type: openai-compatible, base_url: "${upstream.url}/v1", models: discover }
`);
  try {
    const { closed } = await firstOf(upstream.calls);
    assert.equal(await closed, 'aborted');
    assert.equal((await fetch(`${gateway.url}/v1/models`)).status, 200);
    assert.equal(
      gateway.log.find((line) => line.msg === 'models not learned')?.problem,
      'Its list of models has no end.',
    );
  } finally {
    await gateway.close();
    await upstream.close();
  }
});

async function firstOf<Call>(calls: Call[]): Promise<Call> {
  for (;;) {
    const [call] = calls;
    if (call) return call;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
