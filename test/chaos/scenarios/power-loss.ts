/** K5: what a power cut would leave on the disk, at random moments under load. */

import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { atLeast, exactly } from '../figures.ts';
import { ask, startGateway } from '../gateway.ts';
import { between, pause, type Scenario } from '../stage.ts';
import { openData } from '../store.ts';

const MOMENTS = 12;
const CREATORS = 16;
const FILES = ['state.db', 'state.db-wal', 'usage.db', 'usage.db-wal'];

export const powerLoss: Scenario = {
  id: 'power-loss',
  title: 'A disk as a power cut leaves it',
  how:
    `${CREATORS} clients create video tasks without a pause. At ${MOMENTS} random moments the process is frozen, its database files are copied ` +
    'with their logs, and the copy is opened. The copy holds what was written, synced or not; that every commit is synced is checked by `test/store/sqlite.test.ts`.',
  async run(stage) {
    const folder = stage.folder();
    const gateway = await startGateway(stage, { folder });
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
    let broken = 0;
    let lost = 0;
    for (let moment = 1; moment <= MOMENTS; moment++) {
      await pause(between(100, 700));
      const known = acknowledged.slice();
      gateway.signal('SIGSTOP');
      const copy = stage.folder();
      mkdirSync(join(copy, 'data'));
      for (const file of FILES.filter((name) => existsSync(join(folder, 'data', name)))) {
        copyFileSync(join(folder, 'data', file), join(copy, 'data', file));
      }
      gateway.signal('SIGCONT');
      const found = await look(copy);
      if (!found.whole) broken += 1;
      lost += known.filter((id) => !found.ids.has(id)).length;
      stage.say(`moment ${moment} of ${MOMENTS}, ${known.length} tasks`);
    }
    over = true;
    await gateway.kill();
    await Promise.all(creators);
    const { ids } = await look(folder);
    return [
      atLeast('tasks acknowledged', acknowledged.length, 500),
      exactly('copies that are damaged', broken, 0),
      exactly('acknowledged tasks missing in copies', lost, 0),
      exactly('and after kill -9', acknowledged.filter((id) => !ids.has(id)).length, 0),
    ];
  },
};

async function look(folder: string): Promise<{ whole: boolean; ids: Set<string> }> {
  const store = await openData(folder);
  const [integrity] = await store.rows('PRAGMA integrity_check');
  const ids = new Set((await store.rows('SELECT id FROM video_task')).map(({ id }) => String(id)));
  await store.close();
  return { whole: integrity?.integrity_check === 'ok', ids };
}
