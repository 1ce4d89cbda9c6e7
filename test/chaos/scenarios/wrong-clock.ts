/** Clocks that are years wrong when a gateway starts, and set right while it runs. */

import { startChats } from '../chat-upstream.ts';
import { createFakeClock } from '../fake-clock.ts';
import { atLeast, exactly, type Figure, notRun } from '../figures.ts';
import { startFilms } from '../film-upstream.ts';
import { ask, freePort, startGateway } from '../gateway.ts';
import { startHooks } from '../hooks.ts';
import { prefixed, usageFigures, videoFigures } from '../ledgers.ts';
import { startLoad } from '../load.ts';
import { pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData } from '../store.ts';

const YEAR_MS = 365 * 24 * 3_600_000;
const TOKENS = { input: 7, output: 11 };
/** The first removal of old records comes a minute after the start. */
const WRONG_FOR_MS = 75_000;

export const wrongClock: Scenario = {
  id: 'wrong-clock',
  title: 'A clock that is years wrong at a start',
  how:
    'A gateway is killed under load and starts again with its clock 14 years ahead, as after a boot with a wrong hardware clock, or near 1970, as one without it (libfaketime). ' +
    `It answers for ${WRONG_FOR_MS / 1000} s, in which all removals of old data run, and makes videos where the clock is ahead: what is made near 1970 counts as old later. Then the clock is set right under load, without a restart.`,
  patient: true,
  async run(stage) {
    if (!createFakeClock(stage.folder())) return [notRun('wrong clocks', 'libfaketime is not installed')];
    const parts = [
      setRight(stage, '14 years ahead', 14 * YEAR_MS),
      setRight(stage, 'near 1970', 3_600_000 - Math.floor(Date.now() / 1000) * 1000),
    ];
    return (await Promise.all(parts)).flat();
  },
};

async function setRight(stage: Stage, name: string, by: number): Promise<Figure[]> {
  const folder = stage.folder();
  const clock = createFakeClock(folder);
  if (!clock) throw new Error('libfaketime is gone');
  const chats = await startChats(stage, TOKENS);
  const films = await startFilms(stage, { doneIn: 1500 });
  const hooks = await startHooks(stage, 2);
  const port = await freePort();
  const yaml = `providers: { chat: ${chats.entry}, film: ${films.entry} }`;
  const start = () => startGateway(stage, { folder, port, yaml, under: clock.under });
  const url = `http://127.0.0.1:${port}`;
  const whole = new Set<string>();
  const created = new Map<string, string>();
  const store = async (): Promise<string> => {
    const { text } = await ask(`${url}/v1/responses`, { model: 'sandbox/echo', input: 'Keep this.', store: true });
    return String(JSON.parse(text).id);
  };
  async function work(
    prompt: string,
    milliseconds: number,
    { creators = 1, meanwhile = async () => {} } = {},
  ): Promise<number> {
    const load = startLoad(stage, {
      ...{ url, askers: 2, creators, hooks: hooks.urls, rest: 50, videoRest: 1000, name: prompt },
    });
    await meanwhile();
    await pause(milliseconds);
    await load.stop();
    for (const id of load.whole) whole.add(id);
    for (const [id, text] of load.created) created.set(id, text);
    return load.whole.size;
  }

  const first = await start();
  const kept = await store();
  await work('A boat', 4000);
  await first.kill();
  await clock.jump(by);
  const next = await start();
  stage.say(`the clock is ${name}`);
  const creators = by > 0 ? 1 : 0;
  const wrong = await work('A kite', WRONG_FOR_MS, { creators });
  const right = await work('A lamp', 2000, { creators, meanwhile: () => clock.jump(-by) });
  const later = await work('A stone', 4000);
  await within(60_000, () => hooks.got.size >= created.size);
  await pause(1500);
  const found = (await ask(`${url}/v1/responses/${kept}`)).status;
  const fresh = (await ask(`${url}/v1/responses/${await store()}`)).status;
  const ready = (await ask(`${url}/readyz`)).status;
  next.signal('SIGTERM');
  await next.ended;
  const data = await openData(folder);
  const used = await usageFigures(data, { ...TOKENS, served: chats.served, whole });
  const videos = await videoFigures(data, { created, upstream: films, hooks });
  await data.close();
  return prefixed(name, [
    atLeast('answers by the wrong clock', wrong, 50),
    atLeast('answers while it was set right and after', right + later, 20),
    exactly('a response that was stored before', found, 200),
    exactly('one that was stored afterwards', fresh, 200),
    exactly('readiness', ready, 200),
    ...used.figures,
    ...videos,
  ]);
}
