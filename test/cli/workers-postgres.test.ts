/** Workers of a gateway on PostgreSQL, as a program: each has connections of its own, and they are one gateway. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Client } from 'pg';
import { providePostgres } from '../store/postgres-server.ts';
import {
  answer,
  BUDGET,
  HELD,
  isRunning,
  metric,
  RICH,
  send,
  startTwoWorkers,
  statuses,
  TOKEN,
  until,
} from './two-workers.ts';

const OPTIONS = { timeout: 180_000 };

for (const journal of ['shared', 'local']) {
  test(`two workers on PostgreSQL, usage.journal: ${journal}`, OPTIONS, async (context) => {
    const database = await providePostgres();
    context.after(() => database.close());
    const encryption = `encryption: { key: "${randomBytes(32).toString('base64')}" }`;
    const { ask, chat, gateway, held, hold, pids } = await startTwoWorkers(
      context,
      `data: ${database.url}\n${encryption}\nusage: { journal: ${journal} }`,
    );
    assert.deepEqual(await statuses(Array.from({ length: 20 }, () => chat())), { 200: 20 });
    assert.equal((await ask('/readyz')).status, 200);
    const { body: metrics } = await ask('/metrics', { key: TOKEN });
    const answered = 'polygate_requests_total{route="inference.complete",protocol="chat",status_class="2xx"';
    assert.deepEqual([metric(metrics, answered), metric(metrics, 'polygate_workers ')], [20, 2]);

    // Each tells of the endpoints of the other.
    const [, admin = ''] = await gateway.shows(/The admin API listens on (http:\/\/\S+)/);
    const health = async () => (await send(`${admin}/admin/v1/health/endpoints`, { key: TOKEN, method: 'GET' })).body;
    await until(async () => (await health()).data[0]?.history.last_day.attempts === 20);
    assert.equal((await health()).data[0].gateways.length, 2);

    // A budget holds over both, and each sees the records of the other.
    let paid = 0;
    for (let round = 0; round < 8; round++) {
      const counts = await statuses(Array.from({ length: 6 }, () => chat(RICH)));
      paid += counts[200] ?? 0;
      assert.equal((counts[200] ?? 0) + (counts[402] ?? 0), 6, JSON.stringify(counts));
    }
    for (let round = 0; round < 4; round++) {
      const cost = Number((await ask('/v1/usage', { key: RICH })).body.total.cost);
      assert.ok(Math.abs(cost - paid * 0.05) < 1e-9 && cost <= BUDGET && paid > 0, `${cost} for ${paid}`);
    }

    // A key that is created reaches both.
    const created = await send(`${admin}/admin/v1/keys`, { key: TOKEN, method: 'POST', body: { name: 'new' } });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const key = String(created.body.key);
    await until(async () => (await statuses(Array.from({ length: 6 }, () => chat(key))))[200] === 6);

    // One that is killed: what it had begun is recorded, and the other goes on.
    const before = (await ask('/v1/usage')).body.total.requests;
    const outcomes = Promise.allSettled(await hold());
    process.kill(pids[0], 'SIGKILL');
    assert.deepEqual(await statuses(Array.from({ length: 6 }, () => chat())), { 200: 6 });
    for (const response of held) answer(response);
    const interrupted = (await outcomes).filter(({ status }) => status === 'rejected').length;
    assert.equal(interrupted, HELD / 2);
    await gateway.shows(/the worker listens again/);
    await gateway.shows(
      new RegExp(`"requests":${interrupted},"msg":"requests were interrupted by the end of a gateway"`),
    );
    assert.equal((await ask('/v1/usage')).body.total.requests, before + HELD + 6);
    assert.equal(
      await countRows(database.url, "SELECT count(*) AS n FROM usage_request WHERE status = 'interrupted'"),
      interrupted,
    );

    gateway.signal('SIGTERM');
    assert.equal((await gateway.ended).code, 0);
    assert.ok(!pids.some(isRunning));
    assert.equal(await countRows(database.url, 'SELECT count(*) AS n FROM inflight'), 0);
    assert.equal(await countRows(database.url, 'SELECT count(*) AS n FROM usage_group'), 0);
    assert.equal(await countRows(database.url, 'SELECT count(*) AS n FROM instance'), 0);
  });
}

async function countRows(url: string, sql: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return Number(rows[0]?.n);
}
