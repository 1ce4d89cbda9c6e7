/** Faulty receivers, with the time-outs that hold in earnest. */

import { setTimeout as later } from 'node:timers/promises';
import { startTls } from '../../net/servers.ts';
import { FAULTS } from '../../webhooks/faulty-receivers.ts';
import { atMost, exactly, type Figure, noted, notRun, percentile } from '../figures.ts';
import { ask, startGateway, usageOf } from '../gateway.ts';
import { startHooks } from '../hooks.ts';
import { startProbe } from '../prober.ts';
import { pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData, owe } from '../store.ts';

/** Milliseconds for an attempt, and for its connection to stand. */
const WHOLE = 10_000;
const HALF = 5000;
/** By how much an end may be off. */
const TOLERANCE = 300;
const EACH = 3;
const GREEDY = 100;
const LANES = 13;
const MEBIBYTE = 1024 * 1024;

/** Those that could fill the memory. */
const HOSTILE = ['a body without end', 'headers of 1 MB', 'a gzip bomb', 'five thousand encodings'];

export const faultyReceivers: Scenario = {
  id: 'faulty-receivers',
  title: 'Faulty receivers',
  how:
    `Each receiver of \`test/webhooks/faulty-receivers.ts\` gets ${EACH} webhooks with the timeouts of production: ${WHOLE / 1000} s for an attempt, ${HALF / 1000} s to connect. ` +
    `Redirects lead to a receiver that counts requests. Then ${GREEDY} webhooks at once go to receivers that send as much as they can. Failures of name servers are in the fast tests.`,
  patient: true,
  async run(stage) {
    const folder = stage.folder();
    const timers = new Set<NodeJS.Timeout>();
    stage.atEnd(() => [...timers].forEach(clearInterval));
    const servers = new Map<string, string>();
    for (const fault of FAULTS.filter(({ host }) => host === undefined)) {
      const server = await fault.start(timers);
      stage.atEnd(server.close);
      servers.set(fault.name, `https://127.0.0.1:${server.port}/`);
    }
    const trap = await startHooks(stage, 1);
    const redirects = await startRedirects(stage, trap.urls[0] ?? '');
    const store = await openData(folder);
    const found = new Map<string, Promise<string[]>>();
    for (const [name, url] of servers) found.set(name, owe(store, { count: EACH, urls: [url] }));
    const redirected = await owe(store, { count: redirects.length, urls: redirects });
    await Promise.all(found.values());
    await store.close();
    const gateway = await startGateway(stage, { folder });
    const probe = startProbe(`${gateway.url}/healthz`);
    for (let second = 0; second < WHOLE / 1000 + 4; second++) {
      stage.say(`attempts have lasted ${second} s`);
      await later(1000);
    }
    const signs = await probe.stop();
    await gateway.kill();
    const attempts = await firstAttempts(folder);
    return [
      ...(await verdicts(found, attempts)),
      exactly(
        'redirects that end otherwise than http_status',
        redirected.filter((key) => attempts.get(key)?.outcome !== 'http_status').length,
        0,
      ),
      exactly('requests where redirects lead', trap.requests(), 0),
      noted('time of `/healthz` meanwhile, p99', percentile(signs, 0.99), 'ms'),
      ...(await greed(stage, servers)),
    ];
  },
};

async function startRedirects(stage: Stage, to: string): Promise<string[]> {
  const statuses = [301, 302, 303, 307, 308];
  const targets = [to, 'http://127.0.0.1:80/', 'https://169.254.169.254/'];
  const all = statuses.flatMap((status) => targets.map((target) => ({ status, target })));
  const servers = await Promise.all(
    all.map(({ status, target }) =>
      startTls((socket) =>
        socket.once('data', () =>
          socket.end(`HTTP/1.1 ${status} Elsewhere\r\nLocation: ${target}\r\nContent-Length: 0\r\n\r\n`),
        ),
      ),
    ),
  );
  for (const server of servers) stage.atEnd(server.close);
  return servers.map(({ port }) => `https://127.0.0.1:${port}/`);
}

interface Attempt {
  outcome: string;
  took: number;
}

async function firstAttempts(folder: string): Promise<Map<string, Attempt>> {
  const store = await openData(folder);
  const rows = await store.rows(
    'SELECT delivery_id, outcome, ended_at - started_at AS took FROM delivery_attempt WHERE n = 1',
  );
  await store.close();
  return new Map(
    rows.map((row) => [String(row.delivery_id), { outcome: String(row.outcome), took: Number(row.took) }]),
  );
}

async function verdicts(found: Map<string, Promise<string[]>>, attempts: Map<string, Attempt>): Promise<Figure[]> {
  const wrong: string[] = [];
  let furthest = 0;
  for (const { name, outcome, takes } of FAULTS) {
    for (const key of (await found.get(name)) ?? []) {
      const made = attempts.get(key);
      if (made?.outcome !== outcome) wrong.push(`${name}: ${made?.outcome ?? 'no attempt'}`);
      const expected = takes === 'whole' ? WHOLE : takes === 'half' ? HALF : undefined;
      if (made && expected !== undefined) furthest = Math.max(furthest, Math.abs(made.took - expected));
    }
  }
  return [
    noted('faults', found.size),
    exactly('with another outcome than expected', wrong.length, 0),
    ...wrong.slice(0, 5).map((text) => noted('unexpected', text)),
    atMost('furthest that a time-out was off', furthest, TOLERANCE, 'ms'),
  ];
}

async function greed(stage: Stage, servers: Map<string, string>): Promise<Figure[]> {
  const folder = stage.folder();
  const timers = new Set<NodeJS.Timeout>();
  stage.atEnd(() => [...timers].forEach(clearInterval));
  const urls: string[] = [];
  for (const fault of FAULTS.filter(({ name }) => HOSTILE.includes(name) && servers.has(name))) {
    for (let lane = 0; lane < Math.ceil(LANES / 4); lane++) {
      const server = await fault.start(timers);
      stage.atEnd(server.close);
      urls.push(`https://127.0.0.1:${server.port}/`);
    }
  }
  const { urls: benign, got } = await startHooks(stage, 1);
  const store = await openData(folder);
  await owe(store, { count: GREEDY, urls, dueAt: () => Date.now() + 6000 });
  await owe(store, { count: 1, urls: benign });
  await store.close();
  const gateway = await startGateway(stage, { folder });
  // The first webhook loads the client, which is not their doing.
  await within(5000, () => got.size > 0);
  await pause(500);
  const before = usageOf(gateway.pid)?.memory;
  if (before === undefined) return [notRun('memory that hostile receivers take', 'no /proc')];
  let most = before;
  await within(
    10_000,
    () => {
      most = Math.max(most, usageOf(gateway.pid)?.memory ?? 0);
      return false;
    },
    () => stage.say('receivers send as much as they can'),
  );
  const alive = await ask(`${gateway.url}/healthz`);
  await gateway.kill();
  return [
    atMost(`memory that ${GREEDY} hostile receivers at once take`, (most - before) / MEBIBYTE, 20, 'MiB'),
    exactly('alive afterwards', alive.status, 200),
  ];
}
