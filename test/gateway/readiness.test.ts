import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import Fastify from 'fastify';
import { pino } from 'pino';
import { createReadiness } from '../../src/http/readiness.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestSqlite } from '../store/stores.ts';
import { startTestGateway } from './harness.ts';

test('a gateway that works is alive and ready, for whoever asks', async (context) => {
  const gateway = await startTestGateway();
  context.after(gateway.close);
  for (const path of ['/healthz', '/readyz']) {
    const response = await fetch(gateway.url + path);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: 'ok' });
  }
});

/** A server that tells of a store, and what it logs. */
function telling(context: TestContext, store: Pick<Store, 'health'>) {
  const log: string[] = [];
  const check = createReadiness(store, pino({}, { write: (line: string) => void log.push(line) }));
  const app = Fastify();
  app.get('/readyz', async (_request, reply) => {
    const { status = 200, headers = {}, body } = await check();
    return reply.code(status).headers(headers).send(body);
  });
  context.after(() => app.close());
  return { app, log };
}

test('a gateway without its store is not ready; only its log says why, and once', async (context) => {
  const store = await openTestSqlite(context);
  const { app, log } = telling(context, store);
  await store.close();
  const answers = await Promise.all([1, 2, 3].map(() => app.inject('/readyz')));
  for (const { statusCode, headers, body } of answers) {
    assert.equal(statusCode, 503);
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(JSON.parse(body), { status: 'unavailable', reason: 'The store cannot be written to.' });
  }
  assert.equal(log.length, 1);
  assert.match(log[0] ?? '', /the store is closed/);
});

test('many who ask at once cost one look into the store', async (context) => {
  const store = await openTestSqlite(context);
  let looks = 0;
  const counting = {
    health() {
      looks += 1;
      return store.health();
    },
  };
  const { app } = telling(context, counting);
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.inject('/readyz')));
  assert.ok(answers.every(({ statusCode }) => statusCode === 200));
  assert.equal(looks, 1);
});
