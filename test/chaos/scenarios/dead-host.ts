/** Starvation and storm: very many webhooks due at once, to a receiver that is dead or to all of them. */

import { loadavg } from 'node:os';
import { atLeast, atMost, exactly, noted, percentile } from '../figures.ts';
import { startFilms } from '../film-upstream.ts';
import { ask, startGateway, usageOf } from '../gateway.ts';
import { startHooks } from '../hooks.ts';
import { startProbe } from '../prober.ts';
import { pause, type Scenario, within } from '../stage.ts';
import { openData, owe } from '../store.ts';

const DEAD = 10_000;
const RATE = 20;
const HEALTHY = 400;
const STORM = 6000;
const HOSTS = 16;
const CHAT = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] };

export const deadHost: Scenario = {
  id: 'dead-host',
  title: 'A dead receiver',
  how:
    `${DEAD.toLocaleString('en-US')} webhooks are due to one receiver that accepts connections and never answers. Meanwhile ${RATE} tasks a second are created and cancelled, whose ` +
    'webhooks go to a healthy receiver. Its wait is counted from the moment the webhook is due until it is received.',
  async run(stage) {
    const dead = await startHooks(stage, 1, () => {});
    const healthy = await startHooks(stage, 1, (response) => response.writeHead(204).end());
    const films = await startFilms(stage, {});
    const folder = stage.folder();
    const store = await openData(folder);
    await owe(store, { count: DEAD, urls: dead.urls });
    await store.close();
    const gateway = await startGateway(stage, { folder, yaml: films.yaml });
    await within(5000, () => dead.busiest() >= 8);
    const asked: Promise<void>[] = [];
    for (let index = 0; index < HEALTHY; index++) {
      asked.push(end(gateway.url, `A paper boat, ${index}`, healthy.urls[0]));
      await pause(1000 / RATE);
      stage.say(`${healthy.got.size} of ${HEALTHY} received; ${dead.requests()} given to the dead one`);
    }
    await Promise.all(asked);
    await within(15_000, () => healthy.got.size >= HEALTHY);
    await pause(500);
    await gateway.kill();
    const waits = await waitsOf(folder, healthy.got);
    return [
      exactly('received by the healthy one', healthy.got.size, HEALTHY),
      noted('its wait, median', percentile(waits, 0.5), 'ms'),
      atMost('its wait, p99', percentile(waits, 0.99), 500, 'ms'),
      atLeast('requests at the dead one', dead.requests(), 16),
      atMost('requests at the dead one at the same time', dead.busiest(), 8),
    ];
  },
};

/** A task that is given up has its webhook at once. */
async function end(url: string, prompt: string, hook = ''): Promise<void> {
  const created = await ask(`${url}/v1/videos`, { model: 'up/film', prompt, duration: 4, callback_url: hook });
  const { id } = JSON.parse(created.text);
  await ask(`${url}/v1/videos/${id}/cancel`, { abandon: true });
}

async function waitsOf(folder: string, got: Map<string, { firstAt: number }>): Promise<number[]> {
  const store = await openData(folder);
  const rows = await store.rows('SELECT id, created_at FROM delivery');
  await store.close();
  return rows.flatMap((row) => {
    const count = got.get(String(row.id));
    return count ? [count.firstAt - Number(row.created_at)] : [];
  });
}

export const storm: Scenario = {
  id: 'storm',
  title: 'A burst of due webhooks',
  how:
    `${STORM.toLocaleString('en-US')} webhooks to ${HOSTS} receivers are due when the gateway starts, as after an hour without a network. Meanwhile a client ` +
    'requests short answers in a loop. The design target is 50,000; the rate is what matters, and the suite has ten minutes.',
  async run(stage) {
    const hooks = await startHooks(stage, HOSTS, (response) => response.writeHead(204).end());
    const folder = stage.folder();
    const calm = await startGateway(stage, { folder });
    const before = startProbe(`${calm.url}/v1/chat/completions`, CHAT);
    await pause(4000);
    const normal = await before.stop();
    await calm.kill();
    const store = await openData(folder);
    const keys = await owe(store, { count: STORM, urls: hooks.urls });
    await store.close();
    const gateway = await startGateway(stage, { folder });
    const client = startProbe(`${gateway.url}/v1/chat/completions`, CHAT);
    const began = performance.now();
    const processor = usageOf(gateway.pid)?.processor ?? 0;
    await within(
      60_000,
      () => hooks.got.size >= STORM,
      () => stage.say(`${hooks.got.size} of ${STORM} received`),
    );
    const seconds = (performance.now() - began) / 1000;
    const used = ((usageOf(gateway.pid)?.processor ?? 0) - processor) / 10 / seconds;
    const during = await client.stop();
    await gateway.kill();
    return [
      noted('load of the machine', loadavg()[0] ?? 0),
      exactly('webhooks lost', keys.filter((key) => !hooks.got.has(key)).length, 0),
      exactly('received again', hooks.requests() - hooks.got.size, 0),
      atLeast('webhooks delivered', STORM / seconds, 600, '/s'),
      noted('processor of the gateway, of one core', used, '%'),
      noted('processor time of the gateway for a webhook', (used * 10 * seconds) / STORM, 'ms'),
      noted('answers to a client before, p99', percentile(normal, 0.99), 'ms'),
      noted('answers to a client meanwhile, median', percentile(during, 0.5), 'ms'),
      atMost('answers to a client meanwhile, p99', percentile(during, 0.99), 1.2 * percentile(normal, 0.99), 'ms'),
    ];
  },
};
