/** A gateway's task machine in a process of its own, which kills itself at a named point: `<data> <upstream> <offset> <find|blind> [<point>]`. */

import type { TestContext } from 'node:test';
import type { MirroredFile } from '../../src/records/video-task.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import type { VideoChange } from '../../src/store/operations/videos.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { createRig, newTask, OWNER, type VideoStore } from './rig.ts';
import { scriptedApi } from './scripted.ts';

const [folder = '', url = '', offset = '0', sight = 'find', point = ''] = process.argv.slice(2);

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
const opened = await openSqlite({ folder, role: 'owner', operations, migrations: MIGRATIONS_FOLDER });
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
const { task } = await rig.videos.create(newTask({}, { owner: OWNER, idempotencyKey: 'one' }));
const { status, error } = await rig.ended(task.id);
await rig.until(async () => (await rig.store.do('countRows', { table: "job WHERE kind = 'video-use'" })) === 0);
const [use] = await rig.store.call('usageSums', { keyId: OWNER, from: 0, to: 1e6, by: [] });
const deliveries = await rig.store.do('deliveriesOf', { taskId: task.id });
console.log(
  JSON.stringify({
    ...{ status, code: error?.code, deliveries: deliveries.map(({ id }) => id === `${task.id}-${status}`) },
    ...{ recorded: use?.requests, cost: use?.cost },
  }),
);
process.exit(0);
