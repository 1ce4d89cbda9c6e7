/** The program keeps the hidden class that Node's `nextTick` needs, from its first line on. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const PROGRAM = pathToFileURL(join(import.meta.dirname, '../../src/main.ts')).href;

/** Addresses of the hidden class of the objects of `nextTick`, before and after a collection, from a process of its own. */
function hiddenClasses(program: string): string[] {
  const script = `
    import { executionAsyncResource } from 'node:async_hooks';
    const show = () => new Promise((resolve) => process.nextTick(() => resolve(void %DebugPrint(executionAsyncResource()))));
    const turn = () => new Promise(setImmediate);
    process.argv = [process.execPath, 'polygate', '--version'];
    process.exit = () => {};
    ${program}
    await show();
    for (let times = 0; times < 3; times++) {
      await turn();
      gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    }
    await show();`;
  // Compaction would move the class, and its address with it.
  const flags = ['--allow-natives-syntax', '--expose-gc', '--no-compact'];
  const args = [...flags, '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const classes = [...stdout.matchAll(/^ - map: (0x[0-9a-f]+) <Map\[/gm)].map(([, address = '']) => address);
  assert.equal(classes.length, 2, stderr);
  return classes;
}

test('the program keeps the hidden class of the objects of nextTick', () => {
  const [before, after] = hiddenClasses(`await import(${JSON.stringify(PROGRAM)});`);
  assert.equal(after, before);
  const [own, later] = hiddenClasses('');
  assert.notEqual(later, own, 'V8 keeps it by itself');
});
