/**
 * A gateway is killed between the steps of a task that its provider ends without a video: what it held of the budget is given back
 * once, and the key pays what the provider says, on both engines.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore, temporaryData } from '../store/stores.ts';
import { SECOND } from './rig.ts';
import { type Reply, says, startUpstream } from './scripted.ts';

const program = join(import.meta.dirname, 'machine-process.ts');

function run(...parameters: string[]): Promise<{ signal?: string; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...parameters], { timeout: 30_000 }, (error, stdout, stderr) => {
      resolve({ signal: error?.signal ?? undefined, output: stdout + (error && !error.signal ? stderr : '') });
    });
  });
}

const error = { code: 'upstream_error', message: 'It failed.' };
const ENDINGS: [ending: string, poll: () => Reply, status: string, cost: string][] = [
  ['failed', () => says({ type: 'failed', error }), 'failed', '0'],
  ['failed and charged', () => says({ type: 'failed', error, cost: '0.8' }), 'failed', '800000000000'],
  ['expired', () => says({ type: 'expired' }), 'expired', '0'],
  ['cancelled', () => says({ type: 'cancelled' }), 'cancelled', '0'],
];
const POINTS = [
  'after holdForTask',
  'after createVideo',
  'after accepted',
  'before settled',
  'after settled',
  'before recordTaskUsage',
  'after recordTaskUsage',
  'after finishVideoUse',
];

forEachStore((engine) => {
  for (const [ending, poll, status, cost] of ENDINGS)
    test(`a task that is ${ending}, with a kill at each step (${engine})`, { timeout: 300_000 }, async (context) => {
      for (const point of POINTS) {
        // It is cancelled before it is handed to the provider.
        if (ending === 'cancelled' && point === 'after accepted') continue;
        const upstream = await startUpstream(context);
        upstream.onPoll = poll;
        const database = engine === 'postgres' ? await providePostgres() : undefined;
        if (database) context.after(database.close);
        const data = database?.url ?? temporaryData(context);
        const first = await run(data, upstream.url, '0', 'find', point, engine, ending);
        assert.equal(first.signal, 'SIGKILL', `${point}: ${first.output}`);
        const { output } = await run(data, upstream.url, String(90 * SECOND), 'find', '', engine, ending);
        const found = JSON.parse(output);
        assert.deepEqual(
          [found.status, found.recorded, found.cost, found.spent, found.held],
          [status, 1, cost, cost, '0'],
          point,
        );
      }
    });
});
