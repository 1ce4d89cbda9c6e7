/** What an image may have in it, with files as an image has them. */

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
// @ts-expect-error A script without types.
import { checkContents } from '../../scripts/image-contents.mjs';
import { deployText } from './deploy-files.ts';

const FILES = [
  ...['LICENSE', 'config.schema.json', 'package.json', 'dist/main.js', 'dist/ui/index.html.br'].map(
    (name) => `app/${name}`,
  ),
  ...['usr/local/bin/node', 'usr/local/bin/polygate'],
];
const CONFIG = { User: '65532:65532', Env: ['PATH=/usr/bin', 'NODE_ENV=production', 'MALLOC_ARENA_MAX=2'] };
const CANARY = 'canary-of-the-machine';

function image(context: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'polygate-image-'));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const add = (name: string, text = 'text', mode = 0o644) => {
    mkdirSync(dirname(join(root, name)), { recursive: true, mode: 0o755 });
    writeFileSync(join(root, name), text);
    chmodSync(join(root, name), mode);
  };
  for (const name of FILES) add(name);
  mkdirSync(join(root, 'var/lib/polygate'), { recursive: true });
  const check = (config: object = CONFIG, owner = process.getuid?.()) =>
    checkContents(root, config, { owner, canaries: [CANARY] });
  return { add, check };
}

const skip = process.platform === 'win32';

test('an image as the Containerfile makes it has nothing that should not be there', { skip }, (context) => {
  image(context).check();
  const text = deployText('Containerfile');
  assert.match(text, /^USER 65532:65532$/m);
  assert.match(text, /\/src\/dist \/src\/package\.json \/src\/config\.schema\.json \/src\/LICENSE app\//);
});

const WRONG: [string, (add: (name: string, text?: string, mode?: number) => void) => void, RegExp][] = [
  ['packages', (add) => add('app/node_modules/left/index.js'), /the folder \/app/],
  ['a file of settings with a token', (add) => add('app/.npmrc'), /the folder \/app/],
  ['another program', (add) => add('usr/local/bin/npm'), /\/usr\/local\/bin/],
  ['data', (add) => add('var/lib/polygate/state.db'), /\/var\/lib\/polygate/],
  ['a map', (add) => add('app/dist/main.js.map'), /of development/],
  ['types', (add) => add('app/dist/verify.d.cts'), /of development/],
  ['packages below', (add) => add('app/dist/node_modules/left.js'), /of development/],
  ['a file that runs as its owner', (add) => add('usr/local/bin/node', 'x', 0o4755), /runs as its owner/],
  ['a file that others may write to', (add) => add('app/dist/main.js', 'x', 0o666), /others may write/],
  ['a private key', (add) => add('app/dist/a.js', `-----BEGIN PRIVATE KEY-----\n${'M'.repeat(64)}`), /a secret/],
  ['a token of npm', (add) => add('app/dist/a.js', '//registry/:_authToken=abc'), /a secret/],
  ['a key of a gateway', (add) => add('app/dist/a.js', `"sk-pg-${'a'.repeat(49)}"`), /a secret/],
  ['a text of the machine', (add) => add('app/dist/a.js', CANARY), /machine that built it/],
];

for (const [name, change, problem] of WRONG) {
  test(`${name} is found`, { skip }, (context) => {
    const { add, check } = image(context);
    change(add);
    assert.throws(() => check(), problem);
  });
}

test('another user, other variables and another owner are found', { skip }, (context) => {
  const { check } = image(context);
  assert.throws(() => check({ ...CONFIG, User: 'root' }), /the user/);
  assert.throws(() => check({ ...CONFIG, Env: [...CONFIG.Env, 'NPM_TOKEN=x'] }), /NPM_TOKEN/);
  assert.throws(() => check({ ...CONFIG, Labels: { of: CANARY } }), /machine that built it/);
  assert.throws(() => check(CONFIG, (process.getuid?.() ?? 0) + 1), /another user/);
});
