/** Temporary files of the fast suites: in memory where there is room, on the disk elsewhere. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

interface MemoryFolder {
  path: string;
  remove(): void;
}

const script = async (): Promise<{ memoryFolder(parent?: string, neededBytes?: number): MemoryFolder | undefined }> =>
  import(new URL('../../scripts/memory-folder.mjs', import.meta.url).href);
const parent = mkdtempSync(join(tmpdir(), 'polygate-memory-'));
after(() => rmSync(parent, { recursive: true }));

test('a folder of its own is made and removed', async () => {
  const { memoryFolder } = await script();
  const one = memoryFolder(parent, 1);
  const other = memoryFolder(parent, 1);
  assert.ok(one && other);
  assert.notEqual(one.path, other.path);
  one.remove();
  assert.deepEqual(
    [one, other].map(({ path }) => existsSync(path)),
    [false, true],
  );
});

test('there is none where memory is too small or not mounted', async () => {
  const { memoryFolder } = await script();
  assert.equal(memoryFolder(parent, Number.MAX_SAFE_INTEGER), undefined);
  assert.equal(memoryFolder(join(parent, 'absent'), 1), undefined);
});
