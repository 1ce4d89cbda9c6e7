/** K1: the gateway is killed again and again while it delivers. */

import { atMost, exactly, type Figure, noted } from '../figures.ts';
import { startGateway } from '../gateway.ts';
import { startHooks } from '../hooks.ts';
import { between, pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData, owe } from '../store.ts';

const DELIVERIES = 10_000;
const KILLS = 20;
const RECEIVERS = 8;
/** Deliveries that may be under way at once: eight a receiver. */
const IN_FLIGHT = RECEIVERS * 8;
const DRAIN = 60_000;

export const killedDeliveries: Scenario = {
  id: 'killed-deliveries',
  title: 'Kill -9 while webhooks are delivered',
  how:
    `${DELIVERIES.toLocaleString('en-US')} webhooks are due to ${RECEIVERS} receivers that answer in 5 to 25 ms. The gateway is killed ${KILLS} times, ` +
    '0.5 to 1.5 s after each start, and then left alone.',
  async run(stage) {
    const hooks = await startHooks(stage, RECEIVERS);
    const folder = stage.folder();
    const store = await openData(folder);
    const keys = await owe(store, { count: DELIVERIES, urls: hooks.urls });
    await store.close();
    const early = await killOften(stage, folder, () => hooks.got.size);
    const last = await startGateway(stage, { folder });
    const began = performance.now();
    await within(
      DRAIN,
      () => hooks.got.size >= DELIVERIES,
      () => stage.say(`${hooks.got.size} of ${DELIVERIES} received`),
    );
    const drained = (performance.now() - began) / 1000;
    // What was received last is still to be written down.
    await pause(2000);
    await last.kill();
    return [
      ...received(hooks, keys),
      noted('received before the last kill', early),
      await delivered(folder),
      atMost('drained after the last kill', drained, DRAIN / 1000, 's'),
    ];
  },
};

async function killOften(stage: Stage, folder: string, received: () => number): Promise<number> {
  for (let kill = 1; kill <= KILLS; kill++) {
    const gateway = await startGateway(stage, { folder });
    await pause(between(500, 1500));
    await gateway.kill();
    stage.say(`kill ${kill} of ${KILLS}, ${received()} received`);
  }
  return received();
}

function received({ got, requests }: Awaited<ReturnType<typeof startHooks>>, keys: readonly string[]): Figure[] {
  const counts = [...got.values()];
  const repeated = requests() - got.size;
  return [
    exactly('webhooks lost', keys.filter((key) => !got.has(key)).length, 0),
    atMost('received again', repeated, Math.min(KILLS * IN_FLIGHT, keys.length * 0.05)),
    atMost('times that one was received', Math.max(...counts.map(({ times }) => times)), 1 + KILLS),
    exactly('with other bytes the second time', counts.filter(({ same }) => !same).length, 0),
  ];
}

async function delivered(folder: string): Promise<Figure> {
  const store = await openData(folder);
  const [row] = await store.rows(`SELECT count(*) AS n FROM delivery WHERE state = 'delivered'`);
  await store.close();
  return exactly('recorded as delivered', Number(row?.n), DELIVERIES);
}
