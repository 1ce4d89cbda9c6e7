/** Video tasks from their creation to their webhook, while the gateway is killed again and again. */

import { randomUUID } from 'node:crypto';
import { atLeast, type Figure } from '../figures.ts';
import { type FilmUpstream, startFilms } from '../film-upstream.ts';
import { ask, freePort, startGateway } from '../gateway.ts';
import { type Answerer, type Hooks, startHooks } from '../hooks.ts';
import { type VideoWork, videoFigures } from '../ledgers.ts';
import { between, pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData } from '../store.ts';

const KILLS = 12;
const CREATORS = 4;
const DRAIN = 60_000;

export const killedTasks: Scenario = {
  id: 'killed-tasks',
  title: 'Kill -9 while videos are made',
  how:
    `${CREATORS} clients create tasks and repeat unanswered requests with the same \`Idempotency-Key\`, while the gateway is killed ${KILLS} times. The upstream ` +
    'treats every submission as new and counts them. A submission that the upstream may or may not have received is looked up there; ' +
    'only after four minutes is it certain that it never arrived, so a few tasks may still wait at the end.',
  async run(stage) {
    const upstream = await startFilms(stage, { doneIn: 2000 });
    const hooks = await startHooks(stage, 4, failingFirst);
    const folder = stage.folder();
    const port = await freePort();
    const start = () => startGateway(stage, { folder, port, yaml: upstream.yaml });
    const work = create(stage, `http://127.0.0.1:${port}`, hooks);
    for (let kill = 1; kill <= KILLS; kill++) {
      const gateway = await start();
      await pause(between(800, 2500));
      await gateway.kill();
      stage.say(`kill ${kill} of ${KILLS}, ${work.created.size} tasks`);
    }
    const last = await start();
    await work.stop();
    const finished = () => hooks.got.size >= work.created.size - uncertain(work, upstream);
    await within(DRAIN, finished, () => stage.say(`${hooks.got.size} of ${work.created.size} told`));
    await acknowledged(folder);
    await last.kill();
    return look(folder, { ...work, upstream, hooks });
  },
};

/** Waits until every webhook is, the second and third attempts included. */
async function acknowledged(folder: string): Promise<void> {
  const store = await openData(folder, 'guest');
  const pending = `SELECT count(*) AS n FROM delivery WHERE state = 'pending'`;
  await within(40_000, async () => Number((await store.rows(pending))[0]?.n) === 0);
  await store.close();
}

/** Created, but not known to the upstream. */
function uncertain({ created }: Work, { submissions }: FilmUpstream): number {
  return [...created.values()].filter((prompt) => !submissions.has(prompt)).length;
}

interface Work {
  /** Prompts by the ids of their tasks. */
  created: Map<string, string>;
  stop(): Promise<void>;
}

function create(stage: Stage, url: string, hooks: Hooks): Work {
  const created = new Map<string, string>();
  let over = false;
  stage.atEnd(() => {
    over = true;
  });
  const creators = Array.from({ length: CREATORS }, async (_, index) => {
    for (let number = 0; !over; number++) {
      const prompt = `A paper boat, ${index}.${number}`;
      const body = { model: 'up/film', prompt, duration: 4, callback_url: hooks.urls[index] };
      const headers = { 'idempotency-key': randomUUID() };
      for (;;) {
        const response = await ask(`${url}/v1/videos`, body, { headers, patience: 5000 }).catch(() => undefined);
        if (response?.status === 202) {
          created.set(JSON.parse(response.text).id, prompt);
          break;
        }
        if (over) return;
        await pause(100);
      }
      await pause(300);
    }
  });
  return {
    created,
    async stop() {
      over = true;
      await Promise.all(creators);
    },
  };
}

/** The first answer is none that acknowledges. */
const failingFirst: Answerer = (response, times) => void response.writeHead(times === 1 ? 503 : 204).end();

async function look(folder: string, work: VideoWork): Promise<Figure[]> {
  const store = await openData(folder);
  const figures = await videoFigures(store, work);
  await store.close();
  return [atLeast('tasks acknowledged', work.created.size, 50), ...figures];
}
