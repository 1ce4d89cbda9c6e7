/** K5: what a power cut would leave on the disk, at random moments under load. */

import {
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { readHeader } from '../../../src/usage/journal/format.ts';
import { startChats } from '../chat-upstream.ts';
import { atLeast, exactly, noted } from '../figures.ts';
import { ask, startGateway } from '../gateway.ts';
import { unstored } from '../journals.ts';
import { startLoad } from '../load.ts';
import { between, pause, type Scenario, type Stage } from '../stage.ts';
import { openData } from '../store.ts';

const MOMENTS = 10;
const CREATORS = 16;
const ASKERS = 16;
const FILES = ['state.db', 'state.db-wal', 'usage.db', 'usage.db-wal'];

export const powerLoss: Scenario = {
  id: 'power-loss',
  title: 'A disk as a power cut leaves it',
  how:
    `${CREATORS} clients create video tasks and ${ASKERS} ask for answers, without a pause. At ${MOMENTS} random moments the process is frozen, its database files and the journal are copied, and a gateway is started on the copy and ` +
    "killed. The copy holds what was written, synced or not; that every commit is synced is checked by `test/store/sqlite.test.ts`, and that the journal is open for synced writes by the kernel's word.",
  async run(stage) {
    const folder = stage.folder();
    const chats = await startChats(stage, { input: 7, output: 11 });
    const yaml = `providers: { chat: ${chats.entry} }`;
    const gateway = await startGateway(stage, { folder, yaml });
    const load = startLoad(stage, { url: gateway.url, askers: ASKERS });
    const acknowledged: string[] = [];
    let over = false;
    const creators = Array.from({ length: CREATORS }, async () => {
      while (!over) {
        const body = { model: 'sandbox/video', prompt: 'hang', duration: 1, resolution: '480p' };
        const response = await ask(`${gateway.url}/v1/videos`, body).catch(() => undefined);
        if (response?.status === 202) acknowledged.push(JSON.parse(response.text).id);
        else await pause(20);
      }
    });
    const seen = { broken: 0, tasks: 0, answers: 0, held: 0, plain: 0 };
    for (let moment = 1; moment <= MOMENTS; moment++) {
      await pause(between(100, 700));
      const known = { tasks: acknowledged.slice(), answers: [...load.whole] };
      gateway.signal('SIGSTOP');
      seen.plain += unsyncedSegments(gateway.pid);
      const copy = stage.folder();
      copyData(folder, copy);
      gateway.signal('SIGCONT');
      seen.held += (await unstored(copy)).ended;
      const found = await look(stage, copy, yaml);
      if (!found.whole) seen.broken += 1;
      seen.tasks += known.tasks.filter((id) => !found.tasks.has(id)).length;
      seen.answers += known.answers.filter((id) => !found.answers.has(id)).length;
      stage.say(`moment ${moment} of ${MOMENTS}, ${known.tasks.length} tasks, ${known.answers.length} answers`);
    }
    over = true;
    await gateway.kill();
    await Promise.all([...creators, load.stop()]);
    const last = await look(stage, folder, yaml);
    return [
      atLeast('tasks acknowledged', acknowledged.length, 500),
      atLeast('answers read to their end', load.whole.size, 200),
      exactly('copies that are damaged', seen.broken, 0),
      exactly('acknowledged tasks missing in copies', seen.tasks, 0),
      exactly('answers read to their end, without a record in copies', seen.answers, 0),
      noted('records that only the journal of a copy held', seen.held),
      exactly('segments of the journal that are not open for synced writes', seen.plain, 0),
      exactly('tasks missing after kill -9', acknowledged.filter((id) => !last.tasks.has(id)).length, 0),
      exactly(
        'answers without a record after kill -9',
        [...load.whole].filter((id) => !last.answers.has(id)).length,
        0,
      ),
    ];
  },
};

function copyData(from: string, to: string): void {
  mkdirSync(join(to, 'data'));
  for (const file of FILES.filter((name) => existsSync(join(from, 'data', name)))) {
    copyFileSync(join(from, 'data', file), join(to, 'data', file));
  }
  cpSync(join(from, 'data', 'journal'), join(to, 'data', 'journal'), { recursive: true });
}

/** Number of open segments in use to which the kernel may write later; 0 where it does not tell. */
function unsyncedSegments(pid: number): number {
  if (!existsSync(`/proc/${pid}/fdinfo`)) return 0;
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    const path = readlinkSync(`/proc/${pid}/fd/${fd}`);
    if (!path.endsWith('.journal') || !readHeader(readFileSync(path))) return false;
    const [, flags = '0'] = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & constants.O_DSYNC) === 0;
  }).length;
}

/** What a gateway finds, which stores the records of the journal when it starts. */
async function look(stage: Stage, folder: string, yaml: string) {
  const gateway = await startGateway(stage, { folder, yaml });
  await gateway.kill();
  const store = await openData(folder);
  const [state] = await store.rows('PRAGMA integrity_check');
  const [usage] = await store.do('askUsage', { sql: 'PRAGMA integrity_check' });
  const tasks = new Set((await store.rows('SELECT id FROM video_task')).map(({ id }) => String(id)));
  const records = await store.do('askUsage', { sql: 'SELECT upstream_id FROM usage_request' });
  const answers = new Set(records.map(({ upstream_id }) => String(upstream_id)));
  await store.close();
  return { whole: [state, usage].every((checked) => checked?.integrity_check === 'ok'), tasks, answers };
}
