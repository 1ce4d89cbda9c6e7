/** docs/operations.md: what it calls a backup is one, taken from a running gateway and put back as it says. */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { program } from '../cli/program.ts';
import { codeIn } from './markdown.ts';

const COMMAND = /^sqlite3 (\S+) "([^"]+)"$/gm;

test('a backup of a running gateway starts elsewhere, with its keys and its videos', async (context) => {
  const { folder, start, run } = program(context);
  const gateway = start(['serve', '--port', '0']);
  const [, url = ''] = await gateway.shows(/listens on (\S+)/);
  const [key] = await gateway.shows(/sk-pg-\S+/);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'sandbox/video', prompt: 'hang' });
  const made = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body });
  const { id } = (await made.json()) as { id: string };

  const commands = [...codeIn('docs/operations.md', 'sh').join('').matchAll(COMMAND)];
  assert.equal(commands.length, 2);
  mkdirSync(join(folder, 'backup'));
  for (const [, file = '', sql = ''] of commands) {
    const database = new DatabaseSync(join(folder, file), { readOnly: true });
    database.exec(sql.replace("'backup/", `'${join(folder, 'backup')}/`));
    database.close();
  }
  gateway.signal('SIGKILL');
  await gateway.ended;

  cpSync(join(folder, 'data/encryption.key'), join(folder, 'backup/encryption.key'));
  writeFileSync(join(folder, 'polygate.yaml'), 'data: backup\n');
  const shown = await run(['videos', 'show', id, '--json']);
  assert.equal(JSON.parse(shown.stdout).prompt, 'hang', shown.stderr);
  const [, restored = ''] = await start(['serve', '--port', '0']).shows(/listens on (\S+)/);
  assert.equal((await fetch(`${restored}/v1/videos/${id}`, { headers })).status, 200);
});
