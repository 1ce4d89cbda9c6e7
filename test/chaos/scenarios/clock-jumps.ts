/** Clocks that are set by an hour, and the hours at which daylight saving time begins and ends. */

import { providePostgres } from '../../store/postgres-server.ts';
import { startChats } from '../chat-upstream.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { atLeast, atMost, exactly, type Figure, noted, notRun } from '../figures.ts';
import { startFilms } from '../film-upstream.ts';
import { type Answer, ask, freePort, type Gateway, startGateway } from '../gateway.ts';
import { type Answerer, type Hooks, startHooks } from '../hooks.ts';
import { prefixed, usageFigures, videoFigures } from '../ledgers.ts';
import { startLoad } from '../load.ts';
import { pause, type Scenario, type Stage, within } from '../stage.ts';
import { type ChaosStore, openData, openDatabase, owe } from '../store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TOKENS = { input: 7, output: 11 };
const THRIFTY = 'sk-thrifty-gateway-key-0123456789';
const PRICES = 'pricing: { prompt: "0.0001", completion: "0.0001" }';
/** First retries come after 5 to 6 s; the rest is for a busy machine. */
const LONGEST_RETRY_S = 12;
const DELIVERIES = 300;

export const clockJumps: Scenario = {
  id: 'clock-jumps',
  title: 'Clocks set by an hour, and daylight saving time',
  how:
    'The clock of a gateway under load is set back by an hour and forward again, past midnight UTC, then back while the gateway is down (libfaketime). On PostgreSQL the clock of one of two gateways jumps in both ' +
    `directions during ${DELIVERIES} webhooks whose receivers take half a second. Gateways in Berlin pass the hours at which daylight saving time begins and ends.`,
  patient: true,
  async run(stage) {
    if (!createFakeClock(stage.folder())) return [notRun('clock jumps', 'libfaketime is not installed')];
    const parts = [
      alone(stage),
      shared(stage),
      daylight(stage, 'summer time begins', Date.UTC(2027, 2, 28, 1)),
      daylight(stage, 'summer time ends', Date.UTC(2027, 9, 31, 1)),
    ];
    return (await Promise.all(parts)).flat();
  },
};

function clockOf(folder: string, options?: Parameters<typeof createFakeClock>[1]): FakeClock {
  const clock = createFakeClock(folder, options);
  if (!clock) throw new Error('libfaketime is gone');
  return clock;
}

/** The first answer is none that acknowledges. */
const failingFirst: Answerer = (response, times) => void response.writeHead(times === 1 ? 503 : 204).end();

async function startRig(stage: Stage, clock: FakeClock, folder: string) {
  const chats = await startChats(stage, { ...TOKENS, model: PRICES });
  const films = await startFilms(stage, { doneIn: 1500 });
  const hooks = await startHooks(stage, 2, failingFirst);
  const port = await freePort();
  const yaml = `providers: { chat: ${chats.entry}, film: ${films.entry} }\nvideos: { url_lifetime: 1h }`;
  const keys = `{ name: thrifty, key: ${THRIFTY}, budgets: { day: "0.02" } }`;
  const start = () => startGateway(stage, { folder, port, yaml, keys, under: clock.under });
  const url = `http://127.0.0.1:${port}`;
  const begin = (creators: number) =>
    startLoad(stage, { url, askers: 3, creators, hooks: hooks.urls, rest: 50, videoRest: 1000 });
  return { chats, films, hooks, start, begin, url };
}

async function alone(stage: Stage): Promise<Figure[]> {
  const folder = stage.folder();
  const clock = clockOf(folder, { from: Math.floor(Date.now() / DAY_MS) * DAY_MS + 23 * HOUR_MS + 20 * 60_000 });
  const { chats, films, hooks, start, begin, url } = await startRig(stage, clock, folder);
  const first = await start();
  const load = begin(2);
  const seen = await watchJumps(stage, { url, clock, hooks });
  await load.stop();
  await within(15_000, () => load.created.size === hooks.got.size && isAcknowledged(hooks));
  const wait = longestRetry(hooks);
  const late = await setBackWhileDown(stage, { url, clock, hooks, start, first, created: load.created });
  const store = await openData(folder);
  const used = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
  const videos = await videoFigures(store, { created: load.created, upstream: films, hooks });
  await store.close();
  return prefixed('SQLite', [
    ...seen,
    atMost('longest wait for a first retry', wait, LONGEST_RETRY_S, 's'),
    ...late,
    exactly('requests taken for interrupted', used.interrupted, 0),
    ...used.figures,
    ...videos,
  ]);
}

interface Watched {
  url: string;
  clock: FakeClock;
  hooks: Hooks;
}

/** An hour back, an hour forward, and two more: past midnight and the end of signed addresses. */
async function watchJumps(stage: Stage, { url, clock, hooks }: Watched): Promise<Figure[]> {
  await within(20_000, () => hooks.requests() > 2);
  const signed = await signedAddress(url);
  const yesterday = await spend(url);
  const stream = ask(`${url}/v1/chat/completions`, {
    ...{ model: 'sandbox/faulty', stream: true },
    messages: [{ role: 'user', content: `pause 300ms ${'word '.repeat(15)}` }],
  });
  stage.say('the clock goes back by an hour');
  await clock.jump(-HOUR_MS);
  const looks = await Promise.all(Array.from({ length: 30 }, () => read(`${url}/v1/videos?limit=1`)));
  const back = { spent: (await spend(url)).accepted, signed: (await fetch(signed)).status };
  await pause(6000);
  stage.say('the clock goes forward by an hour, twice');
  await clock.jump(HOUR_MS);
  const again = (await spend(url)).accepted;
  await pause(2000);
  await clock.jump(HOUR_MS);
  const tomorrow = await spend(url);
  await clock.jump(HOUR_MS);
  const expired = JSON.parse((await read(signed)).text).error.code;
  const renewed = (await fetch(await signedAddress(url))).status;
  return [
    atLeast('answers within a budget of the day', yesterday.accepted, 3),
    exactly('answers beyond it, after an hour back', back.spent, 0),
    exactly('answers beyond it, at the first hour again', again, 0),
    exactly('answers within the budget of the next day', tomorrow.accepted, yesterday.accepted),
    exactly('status beyond a budget', tomorrow.status, 402),
    exactly(
      'a stream that ran while the clock was set',
      (await stream).text.includes('[DONE]') ? 'whole' : 'cut',
      'whole',
    ),
    exactly('looks at tasks refused after an hour back', looks.filter(({ status }) => status !== 200).length, 0),
    exactly('a signed address after an hour back', back.signed, 200),
    exactly('a signed address after its end', expired, 'url_expired'),
    exactly('and the one that the task shows then', renewed, 200),
  ];
}

function read(url: string): Promise<Answer> {
  return ask(url);
}

async function signedAddress(url: string): Promise<string> {
  const { data } = JSON.parse((await read(`${url}/v1/videos?limit=20`)).text);
  const task = data.find(({ mirror_urls }: { mirror_urls?: string[] }) => mirror_urls?.[0]);
  return String(task?.mirror_urls[0]);
}

/** Asks with a key whose budget ends soon, until it ends. */
async function spend(url: string): Promise<{ accepted: number; status: number }> {
  const body = { model: 'chat/chat', max_tokens: 11, messages: [{ role: 'user', content: 'Hi' }] };
  for (let accepted = 0; accepted < 40; accepted++) {
    const { status } = await ask(`${url}/v1/chat/completions`, body, {
      headers: { authorization: `Bearer ${THRIFTY}` },
    });
    if (status !== 200) return { accepted, status };
  }
  return { accepted: 40, status: 200 };
}

function isAcknowledged({ got }: Hooks): boolean {
  return [...got.values()].every(({ times }) => times > 1);
}

/** Seconds from a first attempt to the last. */
function longestRetry({ got }: Hooks): number {
  return Math.max(0, ...[...got.values()].map(({ firstAt, lastAt }) => (lastAt - firstAt) / 1000));
}

interface Restarted extends Watched {
  start(): Promise<Gateway>;
  first: Gateway;
  /** Prompts by the ids of their tasks: it adds its own. */
  created: Map<string, string>;
}

/** A gateway is killed while webhooks wait for their retries, and started when the clock has gone back. */
async function setBackWhileDown(
  stage: Stage,
  { url, clock, hooks, start, first, created }: Restarted,
): Promise<Figure[]> {
  const known = hooks.got.size;
  const load = startLoad(stage, { url, askers: 0, creators: 2, hooks: hooks.urls, name: 'A kite' });
  await within(20_000, () => hooks.got.size > known + 1);
  await load.stop();
  for (const [id, prompt] of load.created) created.set(id, prompt);
  await first.kill();
  const due = [...hooks.got.keys()].slice(known);
  await clock.jump(-HOUR_MS);
  const next = await start();
  const began = performance.now();
  await within(30_000, () => due.every((key) => (hooks.got.get(key)?.times ?? 0) > 1));
  const waited = (performance.now() - began) / 1000;
  // Tasks that seem an hour old are polled once a minute.
  await within(90_000, () => hooks.got.size >= created.size && isAcknowledged(hooks));
  next.signal('SIGTERM');
  await next.ended;
  return [
    atLeast('retries that were due when it was killed', due.length, 2),
    atMost('until they came, with the clock set back while it was down', waited, LONGEST_RETRY_S, 's'),
  ];
}

async function shared(stage: Stage): Promise<Figure[]> {
  const database = await providePostgres();
  stage.atEnd(database.close);
  const store = await openDatabase(database.url);
  stage.atEnd(store.close);
  const hooks = await startHooks(stage, 4, (response) => void setTimeout(() => response.writeHead(204).end(), 500));
  const folder = stage.folder();
  const clock = clockOf(folder);
  const one = await startGateway(stage, { folder, postgres: database.url, under: clock.under });
  const two = await startGateway(stage, { folder: stage.folder(), postgres: database.url });
  const streams = [one, two].map(({ url }) =>
    ask(`${url}/v1/chat/completions`, {
      ...{ model: 'sandbox/faulty', stream: true },
      messages: [{ role: 'user', content: `pause 500ms ${'word '.repeat(12)}` }],
    }),
  );
  const soon = store.now() + 1000;
  const keys = await owe(store, { count: DELIVERIES, urls: hooks.urls, dueAt: (index) => soon + index * 40 });
  await within(20_000, () => hooks.requests() > 20);
  for (const jump of [HOUR_MS, -HOUR_MS, -HOUR_MS, HOUR_MS]) {
    await clock.jump(jump);
    await pause(1500);
  }
  await within(30_000, () => hooks.got.size >= DELIVERIES);
  await pause(1000);
  const whole = (await Promise.all(streams)).filter(({ text }) => text.includes('[DONE]')).length;
  const held = await leases(store);
  for (const gateway of [one, two]) gateway.signal('SIGTERM');
  await Promise.all([one.ended, two.ended]);
  const states = await store.do('askUsage', { sql: 'SELECT status FROM usage_request' });
  return prefixed('PostgreSQL', [
    exactly('webhooks lost', keys.filter((key) => !hooks.got.has(key)).length, 0),
    exactly('webhooks received again', hooks.requests() - hooks.got.size, 0),
    exactly('leases that outlast their work', held, 0),
    exactly('streams that ran meanwhile and were whole', whole, 2),
    exactly('requests taken for interrupted', states.filter(({ status }) => status === 'interrupted').length, 0),
  ]);
}

async function leases(store: ChaosStore): Promise<number> {
  const [row] = await store.rows(`SELECT count(*) AS n FROM job WHERE kind = 'webhook' AND lease <> ''`);
  return Number(row?.n);
}

async function daylight(stage: Stage, name: string, moment: number): Promise<Figure[]> {
  const folder = stage.folder();
  const clock = clockOf(folder, { from: moment - 12_000, zone: 'Europe/Berlin' });
  const { chats, films, hooks, start, begin } = await startRig(stage, clock, folder);
  const gateway = await start();
  const load = begin(2);
  await within(40_000, () => clock.now() > moment + 5000);
  await load.stop();
  await within(20_000, () => hooks.got.size >= load.created.size && isAcknowledged(hooks));
  gateway.signal('SIGTERM');
  await gateway.ended;
  const store = await openData(folder);
  const used = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
  const videos = await videoFigures(store, { created: load.created, upstream: films, hooks });
  const [wrong] = await store.do('askUsage', {
    sql: `SELECT count(*) AS n FROM (SELECT started_at / ${HOUR_MS} AS hour, count(*) AS n FROM usage_request GROUP BY 1) r
      LEFT JOIN (SELECT hour, sum(requests) AS n FROM usage_hour WHERE model LIKE '%/chat' GROUP BY 1) h ON h.hour = r.hour
      WHERE h.n IS NULL OR h.n <> r.n`,
  });
  await store.close();
  const failed = [...used.figures, ...videos].filter(({ verdict }) => verdict === 'MISSED');
  return prefixed(name, [
    noted('answers', load.whole.size),
    noted('tasks', load.created.size),
    atMost('longest wait for a first retry', longestRetry(hooks), LONGEST_RETRY_S, 's'),
    exactly('hours whose sum is not that of their records', Number(wrong?.n), 0),
    exactly(
      'other figures of records and tasks that are wrong',
      failed.map((figure) => figure.name).join(', ') || 'none',
      'none',
    ),
  ]);
}
