/** The npm packages before they are built: their manifests, and the entry point that every version of Node can read. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'acorn';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const ENTRY = join(root, 'scripts', 'entry.cjs');
const manifestOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
const manifests = { polygate: manifestOf('.'), '@polygate/webhooks': manifestOf('packages/webhooks') };

for (const [name, manifest] of Object.entries(manifests)) {
  test(`${name} is public, with the provenance and the version of the project`, () => {
    assert.equal(manifest.name, name);
    assert.equal(manifest.private, undefined);
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true });
    assert.equal(manifest.version, manifests.polygate.version);
    assert.equal(manifest.license, manifests.polygate.license);
  });
}

test('the receiver has no dependency', () => {
  const { dependencies, peerDependencies } = manifests['@polygate/webhooks'];
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
  const importsOf = (file: string) => readFileSync(join(root, 'src/webhooks', file), 'utf8').match(/from '[^']+'/g);
  assert.deepEqual(importsOf('verify.ts'), ["from 'node:crypto'", "from './verification.ts'"]);
  assert.equal(importsOf('verification.ts'), null);
});

test('the command is the entry point', () => {
  assert.deepEqual(manifests.polygate.bin, { polygate: 'dist/polygate.cjs' });
});

for (const script of ['prepublishOnly', 'prepack']) {
  test(`the folder of the project cannot be published or packed by mistake: ${script}`, async () => {
    const [program, file, ...args] = manifests.polygate.scripts[script].split(' ');
    assert.equal(program, 'node');
    await assert.rejects(run(process.execPath, [join(root, file), ...args]), /npm run build.*npm run pack/);
  });
}

test('what is not built is not packed', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-pack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'scripts', 'node'), { recursive: true });
  for (const file of ['package.json', 'scripts/pack.mjs', 'scripts/install.mjs', 'scripts/node/package.json'])
    copyFileSync(join(root, file), join(folder, file));
  const { code, stderr } = await run(process.execPath, ['scripts/pack.mjs', folder], { cwd: folder }).catch(
    (failure) => failure,
  );
  assert.deepEqual([code, stderr], [1, 'There is nothing to pack yet. Type: npm run build\n']);
});

test('Node 8 and newer can read the entry point', () => {
  const text = readFileSync(ENTRY, 'utf8').replace("import('./main.js')", "load('./main.js')");
  parse(text, { ecmaVersion: 2017, sourceType: 'script', allowHashBang: true });
});

for (const [version, isEnough] of Object.entries({
  '16.20.2': false,
  '20.11.0': false,
  '24.14.1': false,
  '24.15.0': true,
  '26.0.0': true,
})) {
  test(`Node ${version} is ${isEnough ? 'new enough' : 'too old, and one line says what to type'}`, async (context) => {
    const { entry, env } = installed(context);
    const change = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
    const args = [`--import=data:text/javascript,${encodeURIComponent(change)}`, entry];
    const { code = 0, stdout, stderr } = await run(process.execPath, args, { env }).catch((failure) => failure);
    if (isEnough) return assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(
      stderr,
      `Polygate needs Node 24.15 or newer, and this is ${version}. Type: npx -p node@24 -p polygate polygate\n`,
    );
  });
}

test('compiled code is kept where only its user can write', async (context) => {
  const { entry, env, folder } = installed(context);
  const cache = join(folder, '.cache', 'polygate', 'compiled');
  assert.ok((await run(process.execPath, [entry], { env })).stdout.startsWith(cache));
  assert.equal(statSync(cache).mode & 0o777, 0o700);
});

test('compiled code is not kept where others can write, and a home that is away changes nothing', async (context) => {
  const { entry, env, folder } = installed(context);
  const cache = join(folder, '.cache', 'polygate', 'compiled');
  mkdirSync(cache, { recursive: true });
  chmodSync(cache, 0o777);
  assert.equal((await run(process.execPath, [entry], { env })).stdout, 'undefined\n');
  for (const home of [join(entry, 'no-folder'), '', 'relative'])
    assert.equal((await run(process.execPath, [entry], { env: { ...env, HOME: home } })).stdout, 'undefined\n');
});

/** The entry point in a package of which the program only prints where compiled code is kept. */
function installed(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-entry-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'dist'));
  const { engines } = manifests.polygate;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', engines }));
  const program = "import { getCompileCacheDir } from 'node:module';\nconsole.log(getCompileCacheDir());\n";
  writeFileSync(join(folder, 'dist', 'main.js'), program);
  const entry = join(folder, 'dist', 'polygate.cjs');
  copyFileSync(ENTRY, entry);
  return { folder, entry, env: { PATH: process.env.PATH, HOME: folder } };
}
