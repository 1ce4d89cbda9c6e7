/** A disk that fails at certain moments: full at a COMMIT, full at a checkpoint, and a data folder that turns read-only. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createFaultyWrites } from '../faulty-writes.ts';
import { atLeast, atMost, exactly, type Figure, noted, notRun } from '../figures.ts';
import { ask, startGateway } from '../gateway.ts';
import { prefixed } from '../ledgers.ts';
import { inTurns, type Scenario, type Stage } from '../stage.ts';
import { openData } from '../store.ts';
import { endure } from './broken-store.ts';

const LASTS_MS = 8000;
const FILES = ['state.db', 'usage.db'];
/** Creations while checkpoints fail: enough pages in the log for several. */
const CREATIONS = 1500;
const TASK = { model: 'sandbox/video', prompt: 'hang', duration: 1, resolution: '480p' };
const MIB = 1024 * 1024;

export const failingDisk: Scenario = {
  id: 'failing-disk',
  title: 'A disk that fails at a COMMIT, at a checkpoint, and for good',
  how:
    'strace makes writes of a running gateway fail for a while. Full at a COMMIT: writes to the logs of the databases. Full at a checkpoint: writes to the databases themselves, ' +
    `while ${CREATIONS} tasks are created. Read-only: all writes to all files of the data folder. Each time the gateway recovers by itself, is killed with -9 at the end, and its files are checked.`,
  patient: true,
  async run(stage) {
    const parts = [fullAtCommit(stage), readOnlyFolder(stage), fullAtCheckpoint(stage)];
    return (await Promise.all(parts)).flat();
  },
};

const MISSING = 'strace is not installed or may not attach';

async function fullAtCommit(stage: Stage): Promise<Figure[]> {
  const folder = stage.folder();
  const paths = FILES.map((name) => join(folder, 'data', `${name}-wal`));
  const faults = createFaultyWrites(stage, { paths, fault: 'error=ENOSPC' });
  if (!faults) return [notRun('full at a COMMIT', MISSING)];
  const rig = { name: 'full at a COMMIT', folder };
  return [
    ...(await endure(stage, rig, { lasts: LASTS_MS, begin: ({ pid }) => faults.begin(pid), end: faults.end })),
    ...prefixed(rig.name, [await soundness(folder)]),
  ];
}

async function readOnlyFolder(stage: Stage): Promise<Figure[]> {
  const folder = stage.folder();
  const paths = FILES.flatMap((name) => ['', '-wal', '-shm'].map((end) => join(folder, 'data', name + end)));
  const faults = createFaultyWrites(stage, { paths: [...paths, join(folder, 'data')], fault: 'error=EROFS' });
  if (!faults) return [notRun('read-only folder', MISSING)];
  const rig = { name: 'read-only folder', folder };
  return [
    ...(await endure(stage, rig, { lasts: LASTS_MS, begin: ({ pid }) => faults.begin(pid), end: faults.end })),
    ...prefixed(rig.name, [await soundness(folder)]),
  ];
}

/** The log grows instead; whoever creates tasks notices nothing. */
async function fullAtCheckpoint(stage: Stage): Promise<Figure[]> {
  const folder = stage.folder();
  const data = join(folder, 'data');
  const faults = createFaultyWrites(stage, { paths: FILES.map((name) => join(data, name)), fault: 'error=ENOSPC' });
  if (!faults) return [notRun('full at a checkpoint', MISSING)];
  const gateway = await startGateway(stage, { folder });
  const ids: string[] = [];
  const create = async (count: number) => {
    let refused = 0;
    await inTurns(Array.from({ length: count }), 16, async () => {
      const response = await ask(`${gateway.url}/v1/videos`, TASK).catch(() => undefined);
      if (response?.status === 202) ids.push(JSON.parse(response.text).id);
      else refused += 1;
    });
    return refused;
  };
  await create(50);
  const before = statSync(join(data, 'state.db')).size;
  await faults.begin(gateway.pid);
  const refused = await create(CREATIONS);
  const ready = (await ask(`${gateway.url}/readyz`)).status;
  const log = statSync(join(data, 'state.db-wal')).size;
  const during = statSync(join(data, 'state.db')).size;
  await faults.end();
  const refusedLater = await create(300);
  const after = statSync(join(data, 'state.db')).size;
  await gateway.kill();
  const sound = await soundness(folder);
  const store = await openData(folder);
  const known = new Set((await store.rows('SELECT id FROM video_task')).map(({ id }) => String(id)));
  await store.close();
  return prefixed('full at a checkpoint', [
    noted('creations refused', refused),
    exactly('said to be ready', ready, 200),
    atLeast('log that waits', log / MIB, 4, 'MiB'),
    exactly('bytes that the database grew meanwhile', during - before, 0),
    atLeast('and afterwards', (after - during) / MIB, 1, 'MiB'),
    exactly('creations refused afterwards', refusedLater, 0),
    atMost('acknowledged tasks missing', ids.filter((id) => !known.has(id)).length, 0),
    sound,
  ]);
}

async function soundness(folder: string): Promise<Figure> {
  const store = await openData(folder);
  const [state] = await store.rows('PRAGMA integrity_check');
  const [usage] = await store.do('askUsage', { sql: 'PRAGMA integrity_check' });
  await store.close();
  return exactly('files checked after kill -9', `${state?.integrity_check}, ${usage?.integrity_check}`, 'ok, ok');
}
