/** K4: one of two gateways on one database stands still while it delivers, and wakes up later. */

import { providePostgres } from '../../store/postgres-server.ts';
import { atMost, exactly, noted } from '../figures.ts';
import { startGateway } from '../gateway.ts';
import { startHooks } from '../hooks.ts';
import { pause, type Scenario, within } from '../stage.ts';
import { openDatabase, owe } from '../store.ts';

const DELIVERIES = 600;
const RECEIVERS = 8;
const FROZEN = 60_000;

export const frozenGateway: Scenario = {
  id: 'frozen-gateway',
  title: 'A gateway that is suspended and resumes',
  how:
    `Two gateways share a PostgreSQL database and ${DELIVERIES} webhooks whose receivers take half a second. One is stopped with SIGSTOP ` +
    `during its deliveries and resumes ${FROZEN / 1000} s later.`,
  patient: true,
  async run(stage) {
    const database = await providePostgres();
    stage.atEnd(database.close);
    const hooks = await startHooks(
      stage,
      RECEIVERS,
      (response) => void setTimeout(() => response.writeHead(204).end(), 500),
    );
    const store = await openDatabase(database.url);
    stage.atEnd(store.close);
    const one = await startGateway(stage, { folder: stage.folder(), postgres: database.url });
    const two = await startGateway(stage, { folder: stage.folder(), postgres: database.url });
    const soon = store.now() + 1500;
    const keys = await owe(store, { count: DELIVERIES, urls: hooks.urls, dueAt: () => soon });
    await within(20_000, () => hooks.requests() > 100);
    one.signal('SIGSTOP');
    const frozenAt = performance.now();
    const held = await heldJobs(store);
    let drained = 0;
    while (performance.now() - frozenAt < FROZEN) {
      stage.say(`one stands still; ${hooks.got.size} of ${DELIVERIES} received`);
      if (drained === 0 && (await waiting(store)) === 0) drained = performance.now() - frozenAt;
      await pause(1000);
    }
    one.signal('SIGCONT');
    await pause(5000);
    await Promise.all([one.kill(), two.kill()]);
    const [attempts] = await store.rows('SELECT max(n) AS n FROM delivery_attempt');
    const [done] = await store.rows(`SELECT count(*) AS n FROM delivery WHERE state = 'delivered'`);
    return [
      noted('leases held when it stopped', held),
      atMost('until the other had done everything', (drained || Number.POSITIVE_INFINITY) / 1000, 45, 's'),
      exactly('webhooks lost', keys.filter((key) => !hooks.got.has(key)).length, 0),
      atMost('received again', hooks.requests() - hooks.got.size, held),
      atMost('times that one was received', Math.max(...[...hooks.got.values()].map(({ times }) => times)), 2),
      exactly('recorded as delivered', Number(done?.n), DELIVERIES),
      exactly('attempts in the log of one, at most', Number(attempts?.n), 1),
    ];
  },
};

type Store = Awaited<ReturnType<typeof openDatabase>>;

async function heldJobs(store: Store): Promise<number> {
  const [row] = await store.rows(`SELECT count(*) AS n FROM job WHERE kind = 'webhook' AND lease <> ''`);
  return Number(row?.n);
}

async function waiting(store: Store): Promise<number> {
  const [row] = await store.rows(`SELECT count(*) AS n FROM job WHERE kind = 'webhook'`);
  return Number(row?.n);
}
