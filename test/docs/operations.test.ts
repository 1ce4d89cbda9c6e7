/** docs/operations.md: what it calls a backup is one, taken from a running gateway and put back as it says. */

import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from '../cli/program.ts';
import { codeIn } from './markdown.ts';
import { wordsOf } from './page.ts';

test('a backup of a running gateway starts elsewhere, with its keys and its videos', async (context) => {
  const { folder, start, run } = program(context);
  const gateway = start(['serve', '--port', '0']);
  const [, url = ''] = await gateway.shows(/listens on (\S+)/);
  const [key] = await gateway.shows(/sk-pg-\S+/);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'sandbox/video', prompt: 'hang' });
  const made = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body });
  const { id } = (await made.json()) as { id: string };

  const lines = codeIn('docs/operations.md', 'sh').flatMap((code) => code.split('\n'));
  const [backup = '', check = '', restore = ''] = lines.filter((line) => /^polygate (backup|restore) /.test(line));
  const follow = async (line: string, place = { run }) => {
    const { code, stderr } = await place.run(wordsOf(line).slice(1));
    assert.equal(code, 0, `${line}: ${stderr}`);
  };
  await follow(backup);
  await follow(check);
  gateway.signal('SIGKILL');
  await gateway.ended;
  rmSync(join(folder, 'data'), { recursive: true });

  const other = program(context);
  for (const name of ['backup', 'elsewhere']) cpSync(join(folder, name), join(other.folder, name), { recursive: true });
  await follow(restore, other);
  const shown = await other.run(['videos', 'show', id, '--json']);
  assert.equal(JSON.parse(shown.stdout).prompt, 'hang', shown.stderr);
  const [, restored = ''] = await other.start(['serve', '--port', '0']).shows(/listens on (\S+)/);
  assert.equal((await fetch(`${restored}/v1/videos/${id}`, { headers })).status, 200);
});
