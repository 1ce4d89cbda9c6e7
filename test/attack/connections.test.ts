/** Connections: many of them, with heads that never end, and under a low limit of open files. */

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, afterEach, before } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, question } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { openClient, type RawClient } from './raw-client.ts';
import { startVictim, type Victim } from './victim.ts';

/** Another address of this machine than that of the attacker; only Linux has it without being told. */
const OTHER = '127.0.0.2';
const PER_ADDRESS = 50;

let victim: Victim;
let cramped: Victim;
const opened: RawClient[] = [];

before(async () => {
  const server = `server: { connections_per_address: ${PER_ADDRESS}, trusted_proxies: ["127.0.0.3/32"] }`;
  [victim, cramped] = await Promise.all([startVictim(server), startVictim('', { maxFiles: 256 })]);
});

after(() => Promise.all([victim.close(), cramped.close()]));

afterEach(() => endAll(opened.splice(0)));

function open(target: Victim, count: number, from?: string): RawClient[] {
  const clients = Array.from({ length: count }, () => openClient(target.url, from));
  opened.push(...clients);
  return clients;
}

function openOnes(clients: RawClient[]): RawClient[] {
  return clients.filter(({ socket }) => !socket.destroyed && socket.readyState === 'open');
}

/** Waits until every connection is open or refused, and for refusals that follow. */
async function settled(clients: RawClient[], isDone: () => boolean): Promise<void> {
  const isOpening = ({ socket }: RawClient): boolean => socket.connecting && !socket.destroyed;
  const end = performance.now() + 20_000;
  while ((clients.some(isOpening) || !isDone()) && performance.now() < end) await pause(50);
  await pause(200);
}

async function endAll(clients: RawClient[]): Promise<void> {
  for (const { socket } of clients) socket.destroy();
  await Promise.all(clients.map(({ closed }) => closed));
  await pause(500);
}

/** The status of a whole request from an address, or the code of the error where there is no answer. */
function askFrom(target: Victim, localAddress: string): Promise<number | string | undefined> {
  const headers = { ...HEADERS.chat, 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const options = { method: 'POST', path: '/v1/chat/completions', localAddress, agent: false, headers };
    const asked = request(target.url, options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    asked.end(JSON.stringify(question('chat', 'sandbox/echo', 'Hi')));
  });
}

attack(
  'connections',
  {
    by: 'stranger',
    attempt: '400 connections of one address',
    bound: `${PER_ADDRESS} stay, other addresses are served`,
  },
  async () => {
    const clients = open(victim, 400, '127.0.0.1');
    await settled(clients, () => openOnes(clients).length <= PER_ADDRESS);
    assert.equal(openOnes(clients).length, PER_ADDRESS);
    assert.equal(await askFrom(victim, '127.0.0.1'), 'ECONNRESET');
    assert.equal(await askFrom(victim, OTHER), 200);
    const ofProxy = open(victim, 200, '127.0.0.3');
    await settled(ofProxy, () => true);
    assert.equal(openOnes(ofProxy).length, 200);
    await endAll([...clients, ...ofProxy]);
    assert.equal(await askFrom(victim, '127.0.0.1'), 200);
    return `${PER_ADDRESS} of 400 stay`;
  },
);

attack(
  'connections',
  { by: 'stranger', attempt: '600 connections with ulimit -n 256', bound: 'the store works, others are served' },
  async () => {
    const clients = open(cramped, 600, '127.0.0.1');
    await settled(clients, () => openOnes(clients).length < 80);
    const left = openOnes(clients).length;
    assert.ok(left > 20 && left < 80, `${left}`);
    // 30 at once that are recorded durably, each by a thread of the store.
    const statuses = await Promise.all(Array.from({ length: 30 }, () => askFrom(cramped, OTHER)));
    assert.deepEqual([...new Set(statuses)], [200]);
    const use = await fetch(`${cramped.url}/v1/usage`, { headers: HEADERS.chat }).catch(() => undefined);
    assert.equal(use, undefined);
    await endAll(clients);
    const later = await fetch(`${cramped.url}/v1/usage`, { headers: HEADERS.chat });
    const { total } = (await later.json()) as Json;
    assert.equal(total.requests, 30);
    return `${left} of 600 stay`;
  },
);

attack(
  'connections',
  { by: 'stranger', attempt: 'heads a byte a second, and connections that say nothing', bound: '408 within 40 s' },
  async () => {
    const started = performance.now();
    const clients = open(victim, 40, '127.0.0.1');
    const [silent, slow] = [clients.slice(0, 20), clients.slice(20)];
    for (const { socket } of slow) socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx: ');
    const drip = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write('y');
    }, 1000);
    assert.equal(await askFrom(victim, OTHER), 200);
    const statuses = await Promise.all([...silent, ...slow].map(({ status }) => status));
    await Promise.all(clients.map(({ closed }) => closed));
    const seconds = (performance.now() - started) / 1000;
    clearInterval(drip);
    assert.deepEqual([...new Set(statuses)], [408]);
    for (const { received } of clients) assert.match(received, /"code":"request_timeout"/);
    assert.ok(seconds > 14 && seconds < 40, `${seconds}`);
    return `${seconds.toFixed(1)} s`;
  },
);
