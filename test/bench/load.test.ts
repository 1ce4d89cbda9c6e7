/** The load generator: answers of every form, on one connection after the other. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { requestBytes } from '../../bench/load/connection.ts';
import { openLoop } from '../../bench/load/open-loop.ts';

const bytes = requestBytes('/v1/chat/completions', { headers: {}, body: '{}' });

async function serve(t: TestContext, respond: RequestListener): Promise<{ port: number; bytes: Buffer }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => respond(request, response));
  }).listen(0, '127.0.0.1');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, bytes };
}

test('a closed loop counts answers with a length, and in chunks that are cut anywhere', async (t) => {
  let count = 0;
  const target = await serve(t, (_request, response) => {
    if (count++ % 2 === 0) response.end('{"answer":true}');
    else {
      response.write('x'.repeat(70_000));
      setImmediate(() => response.write('\r\n0\r\n\r\n'));
      setImmediate(() => response.end('the end'));
    }
  });
  const answers = await closedLoop(target, { connections: 4, requests: 200 });
  assert.deepEqual([answers.ok, answers.failed, count], [200, 0, 200]);
});

test('a closed loop counts other statuses and broken connections as failures', async (t) => {
  let count = 0;
  const target = await serve(t, (request, response) => {
    if (count++ % 2 === 0) response.writeHead(503).end();
    else request.socket.destroy();
  });
  const answers = await closedLoop(target, { connections: 1, requests: 10 });
  assert.deepEqual([answers.ok, answers.failed], [0, 10]);
});

test('a closed loop counts answers that are too short as failures, with a length and in chunks', async (t) => {
  const whole = 'x'.repeat(100);
  let count = 0;
  const target = await serve(t, (_request, response) => {
    const body = count % 4 < 2 ? whole : whole.slice(1);
    if (count++ % 2 === 0) response.end(body);
    else {
      response.write(body.slice(0, 40));
      response.end(body.slice(40));
    }
  });
  const answers = await closedLoop({ ...target, leastBytes: 100 }, { connections: 1, requests: 40 });
  assert.deepEqual([answers.ok, answers.failed, answers.failure], [20, 20, 200]);
  assert.equal((await closedLoop(target, { connections: 1, requests: 40 })).ok, 40);
});

test('an open loop begins as many requests as the rate says while answers wait, and counts their wait', async (t) => {
  const waiting: (() => void)[] = [];
  const target = await serve(t, (_request, response) => {
    waiting.push(() => response.end('{}'));
    if (waiting.length === 4) for (const answer of waiting.splice(0)) answer();
  });
  const latencies = await openLoop(target, { rate: 200, connections: 4, seconds: 0.2 });
  assert.deepEqual([latencies.ok, latencies.failed], [40, 0]);
  assert.ok(latencies.p50 >= 0);
});
