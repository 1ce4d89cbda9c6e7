/** `polygate init`: the questions, the file, and its use. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { initialConfig } from '../../src/cli/initial-config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { program } from './program.ts';

test('defaults: the providers whose variables are set, this machine, a folder', async (context) => {
  const { folder, run } = program(context);
  const { code, stderr } = await run(['init', '--yes'], { ANTHROPIC_API_KEY: 'k' });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /polygate\.yaml\.\nNow run: polygate\n/);
  const written = readFileSync(join(folder, 'polygate.yaml'), 'utf8');
  assert.match(written, /^ {2}anthropic: \{ api_key: "\$\{ANTHROPIC_API_KEY\}" \}$/m);
  const shown = await run(['check'], { ANTHROPIC_API_KEY: 'k' });
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^# anthropic +ready$/m);
});

test('of several usual variables the one that is set is written', async (context) => {
  const { folder, run } = program(context);
  const { stderr } = await run(['init', '--yes'], { GOOGLE_API_KEY: 'k' });
  assert.match(stderr, /polygate\.yaml\.\nNow run: polygate\n/);
  assert.match(readFileSync(join(folder, 'polygate.yaml'), 'utf8'), /google: \{ api_key: "\$\{GOOGLE_API_KEY\}" \}/);
  assert.match((await run(['check'], { GOOGLE_API_KEY: 'k' })).stdout, /^# google +ready$/m);
  const file = join(folder, 'key');
  writeFileSync(file, 'k\n');
  const again = await run(['init', '--yes', '--force'], { OPENAI_API_KEY_FILE: file });
  assert.match(again.stderr, /polygate\.yaml\.\nNow run: polygate\n/, 'a variable may be in a file');
  assert.match((await run(['check'], { OPENAI_API_KEY_FILE: file })).stdout, /^# openai +ready$/m);
});

test('an existing file is kept, unless asked otherwise', async (context) => {
  const { folder, run } = program(context);
  writeFileSync(join(folder, 'own.yaml'), 'server: {}\n');
  const refused = await run(['init', '--yes', '--config', 'own.yaml']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /own\.yaml exists; --force overwrites it/);
  assert.equal(readFileSync(join(folder, 'own.yaml'), 'utf8'), 'server: {}\n');
  assert.equal((await run(['init', '--yes', '--force', '--config', 'own.yaml'])).code, 0);
  const nowhere = await run(['init', '--yes', '--config', 'no/own.yaml']);
  assert.deepEqual([nowhere.code, nowhere.stderr], [1, `${join(folder, 'no/own.yaml')}: no such file or folder\n`]);
  assert.match(readFileSync(join(folder, 'own.yaml'), 'utf8'), /port: 8080/);
});

test('three questions, repeated where the line is wrong', async (context) => {
  const { folder } = program(context);
  const main = process.env.POLYGATE_PROGRAM ?? join(import.meta.dirname, '../../src/main.ts');
  const { PATH } = process.env;
  const child = spawn(process.execPath, [main, 'init'], { cwd: folder, env: { PATH }, stdio: 'pipe' });
  child.stdin.end('opnai\nopenai, ollama\n3\n2\npostgres\n');
  const asked = await text(child.stderr);
  assert.match(asked, /There is no provider "opnai"; did you mean openai\?/);
  assert.match(asked, /Type 1 or 2\./);
  assert.match(asked, /Set OPENAI_API_KEY, POLYGATE_DATABASE, then run: polygate\n/);
  const written = readFileSync(join(folder, 'polygate.yaml'), 'utf8');
  assert.match(written, /host: 0\.0\.0\.0/);
  assert.match(written, /^data: \$\{POLYGATE_DATABASE\}$/m);
  assert.match(written, /^ {2}ollama: \{\}$/m);
});

test('the command ends after the questions while its input stays open, as a terminal does', {
  timeout: 30_000,
}, async (context) => {
  const { folder } = program(context);
  const main = process.env.POLYGATE_PROGRAM ?? join(import.meta.dirname, '../../src/main.ts');
  const { PATH } = process.env;
  const child = spawn(process.execPath, [main, 'init'], { cwd: folder, env: { PATH }, stdio: 'pipe' });
  context.after(() => child.kill('SIGKILL'));
  child.stdin.write('openai\n1\n./data\n');
  const asked = await text(child.stderr);
  assert.match(asked, /Set OPENAI_API_KEY, then run: polygate\n$/);
});

test('every provider can be chosen', () => {
  const providers = [...providerTypes.values()].filter(({ builtIn }) => !builtIn);
  const yaml = initialConfig({ providers, isPublic: false, folder: './my data: here', database: false });
  const config = parseConfig(yaml, { environment: {}, known: providerTypes });
  assert.equal(config.providers.length, providers.length + 1);
});
