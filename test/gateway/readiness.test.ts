import assert from 'node:assert/strict';
import { test } from 'node:test';
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

/** The readiness check of a store, and the lines it logs. */
function checkOf(store: Pick<Store, 'health'>) {
  const log: string[] = [];
  const check = createReadiness({ store, log: pino({}, { write: (line: string) => void log.push(line) }) });
  return { check, log };
}

test('a gateway without its store is not ready; only its log says why, and once', async (context) => {
  const store = await openTestSqlite(context);
  const { check, log } = checkOf(store);
  await store.close();
  const responses = await Promise.all([1, 2, 3].map(() => check()));
  for (const { status, headers, body } of responses) {
    assert.equal(status, 503);
    assert.equal(headers?.['cache-control'], 'no-store');
    assert.deepEqual(body, { status: 'unavailable', reason: 'The store cannot be written to.' });
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
  const { check } = checkOf(counting);
  const responses = await Promise.all(Array.from({ length: 20 }, () => check()));
  assert.ok(responses.every(({ status = 200 }) => status === 200));
  assert.equal(looks, 1);
});
