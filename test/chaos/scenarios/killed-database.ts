/** PostgreSQL that is killed under load of all kinds: restarted on its data, or replaced by the standby that followed it. */

import { startProxy } from '../../store/proxy.ts';
import { type ChatUpstream, startChats } from '../chat-upstream.ts';
import { atLeast, atMost, exactly, type Figure, noted } from '../figures.ts';
import { type FilmUpstream, startFilms } from '../film-upstream.ts';
import { ask, type Gateway, startGateway } from '../gateway.ts';
import { type Answerer, type Hooks, startHooks } from '../hooks.ts';
import { prefixed, usageFigures, videoFigures } from '../ledgers.ts';
import { type Load, startLoad } from '../load.ts';
import { query, startPair, startPrimary } from '../postgres-cluster.ts';
import { between, pause, type Scenario, type Stage, within } from '../stage.ts';
import { openDatabase } from '../store.ts';

const KILLS = 4;
const ASKERS = 8;
const CREATORS = 3;
const TOKENS = { input: 7, output: 11 };
const DRAIN_MS = 45_000;
const RECOVERY_S = 5;
const SIGN_TIMEOUT_MS = 5000;
/** 529 says it on messages. */
const AWAY = [503, 529];

export const killedDatabase: Scenario = {
  id: 'killed-database',
  title: 'PostgreSQL killed and failed over under load',
  how:
    `${ASKERS} clients send requests over three protocols, whole and streamed, and ${CREATORS} create videos with webhooks whose receivers fail the first time. First the server is killed with all its processes ` +
    `${KILLS} times and restarted on its data. Then a primary with a synchronous standby is killed, the standby is promoted and the address leads to it. The gateway is not restarted.`,
  async run(stage) {
    return [...(await killed(stage)), ...(await failedOver(stage))];
  },
};

async function killed(stage: Stage): Promise<Figure[]> {
  const server = await startPrimary(stage);
  const rig = await startRig(stage, server.url);
  for (let kill = 1; kill <= KILLS; kill++) {
    await pause(between(2000, 4000));
    await server.kill();
    await pause(between(0, 1500));
    await server.start();
    stage.say(`kill ${kill} of ${KILLS}: ${rig.load.whole.size} responses, ${rig.load.created.size} tasks`);
  }
  return prefixed('killed', await conclude(stage, rig, server.url));
}

async function failedOver(stage: Stage): Promise<Figure[]> {
  const { primary, standby } = await startPair(stage);
  const proxy = await startProxy('127.0.0.1', primary.port);
  stage.atEnd(proxy.close);
  const rig = await startRig(stage, primary.url.replace(`:${primary.port}/`, `:${proxy.port}/`));
  await pause(5000);
  await Promise.all([primary.kill(), proxy.cut()]);
  await query(standby.url, 'SELECT pg_promote()');
  proxy.redirect(standby.port);
  await proxy.mend();
  stage.say(`failed over: ${rig.load.whole.size} responses, ${rig.load.created.size} tasks`);
  return prefixed('failed over', await conclude(stage, rig, standby.url));
}

interface Rig {
  chats: ChatUpstream;
  films: FilmUpstream;
  hooks: Hooks;
  gateway: Gateway;
  load: Load;
  /** Signs of life that were missing. */
  silent(): number;
}

async function startRig(stage: Stage, postgres: string): Promise<Rig> {
  const chats = await startChats(stage, TOKENS);
  const films = await startFilms(stage, { doneIn: 1500 });
  const hooks = await startHooks(stage, CREATORS, failingFirst);
  const yaml = `providers: { chat: ${chats.entry}, film: ${films.entry} }`;
  const gateway = await startGateway(stage, { folder: stage.folder(), postgres, yaml });
  const load = startLoad(stage, { url: gateway.url, askers: ASKERS, creators: CREATORS, hooks: hooks.urls, rest: 20 });
  let missed = 0;
  const timer = setInterval(async () => {
    const response = await ask(`${gateway.url}/healthz`, undefined, { patience: SIGN_TIMEOUT_MS }).catch(
      () => undefined,
    );
    if (response?.status !== 200) missed += 1;
  }, 500);
  stage.atEnd(() => clearInterval(timer));
  return { chats, films, hooks, gateway, load, silent: () => missed };
}

/** The first answer is none that acknowledges. */
const failingFirst: Answerer = (response, times) => void response.writeHead(times === 1 ? 503 : 204).end();

async function conclude(stage: Stage, rig: Rig, url: string): Promise<Figure[]> {
  const { chats, films, hooks, gateway, load } = rig;
  const back = performance.now();
  await within(20_000, async () => (await ask(`${gateway.url}/readyz`).catch(() => undefined))?.status === 200);
  const readyAfter = (performance.now() - back) / 1000;
  const before = load.statuses.get(200) ?? 0;
  await pause(3000);
  const afterwards = (load.statuses.get(200) ?? 0) - before;
  await load.stop();
  const store = await openDatabase(url);
  const pending = `SELECT count(*) AS n FROM job WHERE kind IN ('video', 'webhook') AND attempt < 100`;
  await within(
    DRAIN_MS,
    async () => Number((await store.rows(pending))[0]?.n) === 0,
    () => stage.say(`${hooks.got.size} of ${load.created.size} webhooks`),
  );
  gateway.signal('SIGTERM');
  await gateway.ended;
  const used = await usageFigures(store, { ...TOKENS, served: chats.served, whole: load.whole });
  const videos = await videoFigures(store, { created: load.created, upstream: films, hooks });
  await store.close();
  const others = [...load.statuses].filter(([status]) => ![200, ...AWAY].includes(status));
  return [
    atLeast('answers read to their end', load.whole.size, 100),
    noted(
      'refused with 503 or 529',
      AWAY.reduce((sum, status) => sum + (load.statuses.get(status) ?? 0), 0),
    ),
    exactly('ended otherwise', others.map(([status, times]) => `${times} × ${status}`).join(', ') || 'none', 'none'),
    exactly('failed `/healthz` requests', rig.silent(), 0),
    atMost('ready after its end', readyAfter, RECOVERY_S, 's'),
    atLeast('answers in the three seconds after that', afterwards, 50),
    ...used.figures,
    noted('records of requests that never reached the upstream', used.unserved),
    noted('tasks acknowledged', load.created.size),
    ...videos,
  ];
}
