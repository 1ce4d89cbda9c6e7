/** The collection at a start keeps the hidden class that Node's `nextTick` needs. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const MODULE = join(import.meta.dirname, '../../src/gateway/start-memory.ts');

/** Addresses of the hidden class of the objects of `nextTick`, before and after, from a process of its own. */
function hiddenClasses(): string[] {
  const script = `
    import { executionAsyncResource } from 'node:async_hooks';
    import { releaseStartMemory } from ${JSON.stringify(MODULE)};
    const show = () => new Promise((resolve) => process.nextTick(() => resolve(%DebugPrint(executionAsyncResource()))));
    const turn = () => new Promise(setImmediate);
    await show();
    await turn();
    releaseStartMemory();
    await turn();
    await show();`;
  const args = ['--allow-natives-syntax', '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const classes = [...stdout.matchAll(/^ - map: (0x[0-9a-f]+) <Map\[/gm)].map(([, address = '']) => address);
  assert.equal(classes.length, 2, stderr);
  return classes;
}

test('a start keeps the hidden class of the objects of nextTick', () => {
  const [before, after] = hiddenClasses();
  assert.equal(after, before);
});
