/** Few file descriptors and a small heap: the gateway refuses what it has no room for, and stays. */

import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { startChats } from '../chat-upstream.ts';
import { atLeast, atMost, exactly, type Figure, noted } from '../figures.ts';
import { startFilms } from '../film-upstream.ts';
import { ask, type Gateway, KEY, startGateway, usageOf } from '../gateway.ts';
import { startHooks } from '../hooks.ts';
import { usageFigures, videoFigures } from '../ledgers.ts';
import { startLoad } from '../load.ts';
import { pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData } from '../store.ts';

const TOKENS = { input: 7, output: 11 };
const FILES = 256;
const IDLE_CONNECTIONS = 400;
/** Another address than that of the clients. */
const STRANGER = '127.0.0.2';
const HEAP_MIB = 192;
const SENDERS = 40;
const BODY_MIB = 12;
const ROUNDS = 3;
const MIB = 1024 * 1024;

export const fewFiles: Scenario = {
  id: 'few-files',
  title: 'ulimit -n 256 under load',
  how:
    `The gateway may open ${FILES} files. A stranger at another address opens ${IDLE_CONNECTIONS} connections and sends half a request head on each. Then load of answers and of videos with webhooks begins, and 10 s later the stranger disconnects. ` +
    'Connections beyond the limit may be closed at once; nothing acknowledged may be lost, and no request may be refused after the stranger has left.',
  async run(stage) {
    const chats = await startChats(stage, TOKENS);
    const films = await startFilms(stage, { doneIn: 1500 });
    const hooks = await startHooks(stage, 2);
    const folder = stage.folder();
    const gateway = await startGateway(stage, {
      folder,
      yaml: `providers: { chat: ${chats.entry}, film: ${films.entry} }`,
      under: ['sh', '-c', `ulimit -n ${FILES} && exec "$0" "$@"`],
    });
    // First the stranger, so that whatever is opened when it is needed finds nothing left.
    const stranger = openHalf(stage, gateway);
    await pause(1000);
    const load = startLoad(stage, { url: gateway.url, askers: 8, creators: 2, hooks: hooks.urls, rest: 20 });
    await pause(10_000);
    const meanwhile = load.statuses.get(200) ?? 0;
    const others = [...load.statuses].filter(([status]) => status !== 200);
    for (const socket of stranger) socket.destroy();
    await pause(1000);
    load.statuses.clear();
    await pause(4000);
    const failures = [...load.statuses].filter(([status]) => status !== 200);
    const served = load.statuses.get(200) ?? 0;
    await load.stop();
    await within(20_000, () => hooks.got.size >= load.created.size);
    const ready = (await ask(`${gateway.url}/readyz`).catch(() => undefined))?.status ?? 0;
    await stopped(gateway);
    const store = await openData(folder);
    const used = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
    const videos = await videoFigures(store, { created: load.created, upstream: films, hooks });
    await store.close();
    return [
      atLeast('answers to others while it was there', meanwhile, 50),
      exactly('with another status', others.map(([status, n]) => `${n} × ${status}`).join(', ') || 'none', 'none'),
      exactly('readiness afterwards', ready, 200),
      atLeast('answers in the four seconds after it left', served, 50),
      exactly(
        'answers with another status then',
        failures.map(([status, n]) => `${n} × ${status}`).join(', ') || 'none',
        'none',
      ),
      ...used.figures,
      ...videos,
    ];
  },
};

function openHalf(stage: Stage, { url }: Gateway): Socket[] {
  const { port } = new URL(url);
  const sockets = Array.from({ length: IDLE_CONNECTIONS }, () => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: STRANGER });
    socket.on('error', () => undefined);
    socket.on('connect', () => socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n'));
    return socket;
  });
  stage.atEnd(() => {
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

async function stopped(gateway: Gateway): Promise<void> {
  gateway.signal('SIGTERM');
  const late = setTimeout(() => gateway.signal('SIGKILL'), 40_000);
  await gateway.ended;
  clearTimeout(late);
}

export const smallHeap: Scenario = {
  id: 'small-heap',
  title: '--max-old-space-size=192 under large bodies',
  how:
    `A heap of ${HEAP_MIB} MiB, and ${SENDERS} clients at once that each send a body of ${BODY_MIB} MiB, ${ROUNDS} times. The gateway may refuse them with 503 or 413 and Retry-After, ` +
    'but must not exit. Meanwhile a client requests short answers.',
  async run(stage) {
    const chats = await startChats(stage, TOKENS);
    const gateway = await startGateway(stage, {
      folder: stage.folder(),
      yaml: `providers: { chat: ${chats.entry} }`,
      under: ['env', `NODE_OPTIONS=--max-old-space-size=${HEAP_MIB}`],
    });
    let end: string | undefined;
    gateway.ended.then(({ code, signal }) => {
      end ??= String(signal ?? code);
    });
    const messages = Array.from({ length: BODY_MIB * 64 }, () => ({ role: 'user', content: 'word '.repeat(3260) }));
    const body = Buffer.from(JSON.stringify({ model: 'chat/chat', messages }));
    const small = startLoad(stage, { url: gateway.url, askers: 1, rest: 50 });
    let largest = 0;
    const sampler = setInterval(() => {
      largest = Math.max(largest, usageOf(gateway.pid)?.memory || 0);
    }, 50);
    stage.atEnd(() => clearInterval(sampler));
    const statuses = new Map<number, number>();
    for (let round = 0; round < ROUNDS && end === undefined; round++) {
      const answers = await Promise.all(Array.from({ length: SENDERS }, () => send(gateway, body)));
      for (const status of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      stage.say(`round ${round + 1}: ${[...statuses].map(([status, n]) => `${n} × ${status}`).join(', ')}`);
    }
    await pause(500);
    const alive = (await ask(`${gateway.url}/healthz`).catch(() => undefined))?.status ?? 0;
    const answered = small.statuses.get(200) ?? 0;
    await small.stop();
    const how = end ?? 'it runs';
    await gateway.kill();
    const wrong = [...statuses.keys()].filter((status) => ![200, 413, 429, 503].includes(status));
    return heapFigures({ how, alive, statuses, wrong, answered, largest });
  },
};

interface HeapFigures {
  how: string;
  alive: number;
  statuses: Map<number, number>;
  wrong: number[];
  answered: number;
  largest: number;
}

function heapFigures({ how, alive, statuses, wrong, answered, largest }: HeapFigures): Figure[] {
  return [
    exactly('how the gateway ended', how, 'it runs'),
    exactly('status of `/healthz`', alive, 200),
    atLeast('large bodies answered', statuses.get(200) ?? 0, 3),
    noted(
      'refused with 413, 429 or 503',
      [413, 429, 503].reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0),
    ),
    exactly(
      'ended otherwise',
      wrong.map((status) => `${statuses.get(status)} × ${status}`).join(', ') || 'none',
      'none',
    ),
    atLeast('short answers meanwhile', answered, 5),
    atMost('resident memory', largest / MIB, 1024, 'MiB'),
  ];
}

/** The status, or 0 where the connection broke before there was one. */
async function send({ url }: Gateway, body: Buffer): Promise<number> {
  const asked = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: new Agent({ keepAlive: false }),
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-length': body.length },
  });
  asked.setTimeout(60_000, () => asked.destroy());
  const answered = once(asked, 'response').then(
    ([response]) => {
      response.on('error', () => undefined).resume();
      return Number(response.statusCode);
    },
    () => 0,
  );
  asked.on('error', () => undefined);
  asked.end(body);
  const status = await answered;
  asked.destroy();
  return status;
}
