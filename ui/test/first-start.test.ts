/**
 * The first `npm start` in a clone: it serves at once, and builds the pages of the dashboard beside the gateway, once. Where they
 * cannot be built, everything else works.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { KEY } from '../../test/gateway/harness.ts';
import { eventually } from '../../test/gateway/video-client.ts';
import { ask } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Folders that are not in a new clone, or that neither the gateway nor the pages need. */
const LEFT_OUT = ['node_modules', '.node', '.git', 'dist', 'test', 'bench', 'packages'].map((name) => join(ROOT, name));
const UI_PACKAGES = join(ROOT, 'ui', 'node_modules');
const CANNOT = 'The dashboard could not be built, and everything else works without it: ';

interface Start {
  url: string;
  /** Status and text of `/ui`. */
  page(): Promise<[status: number, text: string]>;
  /** Resolves with what was written to standard error. */
  end(): Promise<string>;
}

/** With the packages of the gateway. */
function cloneFor(context: TestContext): string {
  const clone = mkdtempSync(join(tmpdir(), 'polygate clone-'));
  context.after(() => rmSync(clone, { recursive: true, force: true }));
  cpSync(ROOT, clone, { recursive: true, filter: (path) => ![...LEFT_OUT, UI_PACKAGES].includes(path) });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  writeFileSync(
    join(clone, 'polygate.yaml'),
    `data: ${JSON.stringify(join(clone, 'data'))}\nkeys: [{ name: test, key: ${KEY} }]\nserver: { port: 0 }\n`,
  );
  return clone;
}

/** As `npm start` does it, on a machine without a network. Resolves when the gateway listens. */
async function start(context: TestContext, clone: string): Promise<Start> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [join(clone, 'scripts', 'start.mjs')], {
    cwd: clone,
    env: { PATH, NODE_COMPILE_CACHE, npm_config_offline: 'true', npm_config_cache: join(clone, '.npm') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close');
  let written = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  async function end(): Promise<string> {
    child.kill('SIGTERM');
    await closed;
    return written;
  }
  context.after(end);
  const listens = () => /listens on (http:\S+)/.exec(written)?.[1];
  await eventually({}, () => listens() !== undefined || child.exitCode !== null, 20);
  const url = listens();
  assert.ok(url, written);
  async function page(): Promise<[number, string]> {
    const response = await fetch(`${url}/ui`);
    return [response.status, await response.text()];
  }
  return { url, page, end };
}

async function answers({ url }: Start): Promise<void> {
  const response = await ask({ url }, KEY);
  assert.equal(response.status, 200, await response.text());
}

test('the gateway answers before the pages are built, which a second start does not do again', async (context) => {
  const clone = cloneFor(context);
  symlinkSync(UI_PACKAGES, join(clone, 'ui', 'node_modules'));
  const first = await start(context, clone);
  await answers(first);
  const [status, text] = await first.page();
  assert.equal(status, 503, text);
  assert.match(text, /The dashboard is being built/);
  await eventually({}, async () => (await first.page())[0] === 200);
  assert.match((await first.page())[1], /<script type="module"/);
  await answers(first);
  const output = await first.end();
  assert.match(output, /The dashboard is being built \(once\) \.\.\.[\s\S]*The dashboard is built: open \/ui\./);

  const built = statSync(join(clone, 'dist', 'ui')).mtimeMs;
  const second = await start(context, clone);
  assert.equal((await second.page())[0], 200);
  await answers(second);
  assert.doesNotMatch(await second.end(), /is being built|is built/);
  assert.equal(statSync(join(clone, 'dist', 'ui')).mtimeMs, built);
});

test('where the pages cannot be built, the gateway serves without them, and says why', async (context) => {
  const clone = cloneFor(context);
  const offline = await start(context, clone);
  await answers(offline);
  await eventually({}, async () => !/is being built/.test((await offline.page())[1]));
  const [status, text] = await offline.page();
  assert.equal(status, 503);
  assert.match(text, /npm ci failed in ui with exit code 1/);
  assert.ok(!text.includes(clone), text);
  await answers(offline);
  assert.ok((await offline.end()).includes(CANNOT));
});
