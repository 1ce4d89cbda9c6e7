/** A gateway's task machine in a process of its own, which kills itself at a named point: `<data> <upstream> <offset> <find|blind> [<point> [<engine> [<ending>]]]`. */

import type { TestContext } from 'node:test';
import type { MirroredFile } from '../../src/records/video-task.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import type { VideoChange } from '../../src/store/operations/videos.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { createRig, newTask, OWNER, SECOND, type VideoStore } from './rig.ts';
import { scriptedApi } from './scripted.ts';

const [folder = '', url = '', offset = '0', sight = 'find', point = '', engine = 'sqlite', ending = ''] =
  process.argv.slice(2);

function reach(name: string): void {
  if (name === point) process.kill(process.pid, 'SIGKILL');
}

/** What a call is about to make durable. */
function nameOf(name: string, parameters: unknown): string {
  if (name !== 'saveVideo') return name;
  const { attempt, settlement, task } = parameters as VideoChange;
  if (settlement) return 'settled';
  return task.phase === 'finalizing' ? 'finalizing' : (attempt?.state ?? 'saveVideo');
}

const operations = new URL('./operations.ts', import.meta.url);
const modules = { operations, migrations: MIGRATIONS_FOLDER };
const opened = await (engine === 'postgres'
  ? openPostgres({ url: new Secret(folder), ...modules })
  : openSqlite({ folder, role: 'owner', ...modules }));
const call = async (name: string, parameters: unknown) => {
  const step = nameOf(name, parameters);
  reach(`before ${step}`);
  const result = await opened.call(name as never, parameters as never);
  reach(`after ${step}`);
  return result;
};
const store = { ...opened, call, do: call, beside: () => Promise.reject(new Error('alone')) } as unknown as VideoStore;

const context = { after() {} } as unknown as TestContext;
const kept: MirroredFile = { file: '0.mp4', sha256: 'ab', bytes: 3, mime: 'video/mp4' };
const rig = await createRig(context, {
  ...{ store, url, video: sight === 'blind' ? { ...scriptedApi, find: undefined } : scriptedApi },
  mirror: {
    save: async () => {
      reach('while mirroring');
      return kept;
    },
    has: async () => true,
    erase: async () => {},
  },
});
rig.clock.advance(Number(offset));
/** Holds the most that a task may cost, as the admission of a gateway does. */
async function reserve({ id, createdAt, cost = 0n }: { id: string; createdAt: number; cost: bigint | undefined }) {
  await call('holdForTask', { taskId: id, keyId: OWNER, tags: '', amount: cost, createdAt });
  return { headers: {}, release: async () => void (await call('releaseTask', { id })) };
}

const { task } = await rig.videos.create(newTask({}, { owner: OWNER, idempotencyKey: 'one', reserve }));
if (ending === 'cancelled') await rig.videos.cancel(OWNER, task.id, { abandon: false });
const { status, error } = await rig.ended(task.id);
await rig.until(async () => (await rig.store.do('countRows', { table: "job WHERE kind = 'video-use'" })) === 0);
// Later than the sweep leaves the hold of a task that was never created.
await rig.videos.start();
rig.clock.advance(25 * 3600 * SECOND);
await rig.until(
  async () => (await rig.store.call('tasksWithHold', { before: 1e15, latest: 1e15, after: '', limit: 1 })).length === 0,
);
const [budget] = await rig.store.call('budgetUse', { subject: OWNER, periods: [{ period: 'total', startsAt: 0 }] });
const [use] = await rig.store.call('usageSums', { keyId: OWNER, from: 0, to: 1e6, by: [] });
const deliveries = await rig.store.do('deliveriesOf', { taskId: task.id });
console.log(
  JSON.stringify({
    ...{ status, code: error?.code, deliveries: deliveries.map(({ id }) => id === `${task.id}-${status}`) },
    ...{ recorded: use?.requests, cost: use?.cost, spent: String(budget?.spent), held: String(budget?.held) },
  }),
);
process.exit(0);
