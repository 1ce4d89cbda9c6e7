/** K6: SIGTERM while streams are read and webhooks are delivered. */

import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { atMost, exactly, type Figure, noted } from '../figures.ts';
import { type Exit, type Gateway, KEY, startGateway } from '../gateway.ts';
import { type Hooks, startHooks } from '../hooks.ts';
import { pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData, owe } from '../store.ts';

const FINISHING = 150;
const HANGING = 50;
const DELIVERIES = 500;

export const stopUnderLoad: Scenario = {
  id: 'stop-under-load',
  title: 'SIGTERM under load',
  how:
    `${FINISHING} streams that end within 10 s, ${HANGING} that never end and ${DELIVERIES} webhooks whose receivers take a second are in progress when the signal comes. ` +
    'Afterwards another gateway delivers the rest. A second signal is sent to a third gateway with a stream that never ends.',
  async run(stage) {
    const hooks = await startHooks(stage, 8, (response) => void setTimeout(() => response.writeHead(204).end(), 1000));
    const folder = stage.folder();
    const store = await openData(folder);
    const keys = await owe(store, { count: DELIVERIES, urls: hooks.urls });
    await store.close();
    const gateway = await startGateway(stage, { folder });
    const streams = openStreams(gateway);
    const probe = new Agent({ keepAlive: true });
    stage.atEnd(() => probe.destroy());
    await within(15_000, () => streams.every(({ begun }) => begun) && hooks.requests() > 64);
    const before = await readiness(gateway, probe);
    const claimedBefore = hooks.requests();
    gateway.signal('SIGTERM');
    const at = performance.now();
    const unready = await untilUnready(gateway, probe);
    const exit = await counted(stage, gateway.ended, 40_000);
    await pause(500);
    const next = await startGateway(stage, { folder });
    await within(
      60_000,
      () => hooks.got.size >= DELIVERIES,
      () => stage.say(`${hooks.got.size} of ${DELIVERIES} webhooks`),
    );
    await pause(1500);
    await next.kill();
    return [
      exactly('readiness before', before, 200),
      atMost('until it was not ready any more', unready, 500, 'ms'),
      exactly('exit code', exit?.code ?? 'none', 0),
      atMost('until the exit', ((exit?.at ?? Number.POSITIVE_INFINITY) - at) / 1000, 35, 's'),
      ...ends(streams),
      ...webhooks(hooks, keys, claimedBefore),
      await secondSignal(stage),
    ];
  },
};

function webhooks(hooks: Hooks, keys: readonly string[], before: number): Figure[] {
  return [
    noted('webhooks sent before the signal', before),
    exactly('webhooks lost', keys.filter((key) => !hooks.got.has(key)).length, 0),
    exactly('webhooks received again', hooks.requests() - hooks.got.size, 0),
  ];
}

interface Stream {
  hangs: boolean;
  begun: boolean;
  text: string;
  end: 'open' | 'end' | 'cut';
}

function openStreams(gateway: Gateway): Stream[] {
  return Array.from({ length: FINISHING + HANGING }, (_, index) => {
    const hangs = index >= FINISHING;
    const words = hangs ? 'hang after 2' : `pause ${300 + (index % 40) * 5}ms ${'word '.repeat(15)}`;
    return readStream(gateway, hangs, words);
  });
}

function readStream(gateway: Gateway, hangs: boolean, words: string): Stream {
  const stream: Stream = { hangs, begun: false, text: '', end: 'open' };
  const body = JSON.stringify({ model: 'sandbox/faulty', stream: true, messages: [{ role: 'user', content: words }] });
  const asked = request(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  });
  asked.on('response', (response: IncomingMessage) => {
    response.setEncoding('utf8').on('data', (text: string) => {
      stream.begun = true;
      stream.text += text;
    });
    response.on('end', () => {
      stream.end = 'end';
    });
    response.on('error', () => {
      stream.end = 'cut';
    });
  });
  asked.on('error', () => {
    stream.end = 'cut';
  });
  asked.end(body);
  return stream;
}

function ends(streams: readonly Stream[]): Figure[] {
  const finishing = streams.filter(({ hangs }) => !hangs);
  const hanging = streams.filter(({ hangs }) => hangs);
  const isWhole = ({ text }: Stream) => /data: \[DONE\]\s*$/.test(text);
  const saysError = ({ text, end }: Stream) => end === 'end' && /"error"/.test(text);
  return [
    exactly('streams that could end and did', finishing.filter(isWhole).length, FINISHING),
    exactly('streams that were ended, with an error event', hanging.filter(saysError).length, HANGING),
  ];
}

async function readiness(gateway: Gateway, agent: Agent): Promise<number> {
  const asked = request(`${gateway.url}/readyz`, { agent });
  asked.end();
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode ?? 0;
  } catch {
    return 0;
  }
}

/** Milliseconds from now until the gateway says so, or accepts nobody. */
async function untilUnready(gateway: Gateway, agent: Agent): Promise<number> {
  const began = performance.now();
  await within(10_000, async () => (await readiness(gateway, agent)) !== 200);
  return performance.now() - began;
}

async function counted(stage: Stage, ended: Promise<Exit>, most: number): Promise<Exit | undefined> {
  const began = performance.now();
  const timer = setInterval(() => stage.say(`stopping for ${Math.round((performance.now() - began) / 1000)} s`), 1000);
  const exit = await Promise.race([ended, pause(most).then(() => undefined)]);
  clearInterval(timer);
  return exit;
}

async function secondSignal(stage: Stage): Promise<Figure> {
  const gateway = await startGateway(stage, { folder: stage.folder() });
  const stream = readStream(gateway, true, 'hang after 2');
  await within(5000, () => stream.begun);
  gateway.signal('SIGTERM');
  await pause(1000);
  const at = performance.now();
  gateway.signal('SIGTERM');
  const exit = await Promise.race([gateway.ended, pause(10_000).then(() => undefined)]);
  return atMost('from a second signal to the exit', (exit?.at ?? Number.POSITIVE_INFINITY) - at, 1000, 'ms');
}
