import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ConfigWatcher, watchConfig } from '../../src/config/reload.ts';
import { sourceWith } from './sources.ts';

interface Watched {
  file: string;
  watcher: ConfigWatcher;
  /** The port of the next new configuration, or the message of the next refusal. */
  next(): Promise<number | string>;
}

function watched(context: TestContext, text: string): Watched {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-reload-'));
  const file = join(folder, 'polygate.yaml');
  writeFileSync(file, text);
  const arrived: (number | string)[] = [];
  let wake = () => {};
  const arrive = (what: number | string) => {
    arrived.push(what);
    wake();
  };
  const watcher = watchConfig({
    source: { ...sourceWith(), file },
    onChange: (config) => arrive(config.server.port),
    onInvalid: (error) => arrive(error.message),
  });
  context.after(() => {
    watcher.close();
    rmSync(folder, { recursive: true });
  });
  const next = async () => {
    const alive = setInterval(() => {}, 1000);
    while (arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    clearInterval(alive);
    return arrived.shift() as number | string;
  };
  return { file, watcher, next };
}

test('a changed file is a new configuration', async (context) => {
  const { file, next } = watched(context, 'server: { port: 1 }');
  writeFileSync(file, 'server: { port: 2 }');
  assert.equal(await next(), 2);
});

test('a file put in its place is a new configuration', async (context) => {
  const { file, next } = watched(context, 'server: { port: 1 }');
  writeFileSync(`${file}.new`, 'server: { port: 3 }');
  renameSync(`${file}.new`, file);
  assert.equal(await next(), 3);
});

test('an invalid file is reported, and the next valid one counts', async (context) => {
  const { file, next } = watched(context, 'server: { port: 1 }');
  writeFileSync(file, 'server: { port: no }');
  assert.match(String(await next()), /polygate\.yaml:1: server\.port: must be an integer/);
  writeFileSync(file, 'server: { port: 4 }');
  assert.equal(await next(), 4);
});

test('a reload on demand reads again though nothing changed', async (context) => {
  const { watcher, next } = watched(context, 'server: { port: 5 }');
  watcher.reload();
  assert.equal(await next(), 5);
});
