import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type ConfigWatcher, watchConfig } from '../../src/config/reload.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { until } from '../jobs/rig.ts';
import { sourceWith } from './sources.ts';

/** Time without changes before a file is read. */
const SETTLE_MS = 150;

interface Watched {
  file: string;
  /** The file that is watched, if it is another one. */
  path: string;
  watcher: ConfigWatcher;
  clock: ManualClock;
  /** Resolves when the watcher has noticed a change since the last call. */
  noticed(): Promise<void>;
  /** The port of the next new configuration, or the message of the next refusal. */
  next(): Promise<number | string>;
  /** What came and was not asked for. */
  arrived: (number | string)[];
}

function watched(context: TestContext, text: string, place?: (folder: string) => string): Watched {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-reload-'));
  const file = join(folder, 'polygate.yaml');
  writeFileSync(file, text);
  const path = place ? join(folder, place(folder)) : file;
  const arrived: (number | string)[] = [];
  const clock = createManualClock(0);
  let notices = 0;
  const watcher = watchConfig({
    source: { ...sourceWith(), file: path },
    onChange: (config) => arrived.push(config.server.port),
    onInvalid: (error) => arrived.push(error.message),
    clock: {
      after(milliseconds, callback) {
        notices += 1;
        return clock.after(milliseconds, callback);
      },
    },
  });
  context.after(() => {
    watcher.close();
    rmSync(folder, { recursive: true });
  });
  const next = async () => {
    await until(() => {
      clock.advance(SETTLE_MS);
      return arrived.length > 0;
    });
    return arrived.shift() as number | string;
  };
  const noticed = async () => {
    await until(() => notices > 0);
    notices = 0;
  };
  return { file, path, watcher, clock, noticed, next, arrived };
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

test('a changed file behind a link in the same folder is a new configuration', async (context) => {
  const { file, next } = watched(context, 'server: { port: 1 }');
  writeFileSync(`${file}.target`, 'server: { port: 6 }');
  rmSync(file);
  symlinkSync(`${file}.target`, file);
  assert.equal(await next(), 6);
  writeFileSync(`${file}.target`, 'server: { port: 7 }');
  assert.equal(await next(), 7);
});

test('a changed file behind a link in another folder is a new configuration', async (context) => {
  const targets = mkdtempSync(join(tmpdir(), 'polygate-reload-'));
  context.after(() => rmSync(targets, { recursive: true }));
  const { file, next } = watched(context, 'server: { port: 1 }');
  for (const [name, port] of [
    ['a', 2],
    ['b', 4],
  ] as const) {
    const target = join(targets, name, 'real.yaml');
    mkdirSync(dirname(target));
    writeFileSync(target, `server: { port: ${port} }`);
    symlinkSync(target, `${file}.new`);
    renameSync(`${file}.new`, file);
    assert.equal(await next(), port);
    writeFileSync(target, `server: { port: ${port + 1} }`);
    assert.equal(await next(), port + 1);
  }
});

describe('a link that is replaced on the way to the file', () => {
  /** A file with a port in a folder of its own, where nothing changes. */
  function version(folder: string, port: number): string {
    const name = `version-${port}`;
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'polygate.yaml'), `server: { port: ${port} }`);
    return name;
  }

  function replaceLink(target: string, link: string): void {
    symlinkSync(target, `${link}.new`);
    renameSync(`${link}.new`, link);
  }

  test('is a new configuration where it is behind another link, as in a volume of Kubernetes', async (context) => {
    const volume = mkdtempSync(join(tmpdir(), 'polygate-volume-'));
    context.after(() => rmSync(volume, { recursive: true }));
    const data = join(volume, '..data');
    replaceLink(version(volume, 2), data);
    symlinkSync(join('..data', 'polygate.yaml'), join(volume, 'polygate.yaml'));
    const { file, next } = watched(context, 'server: { port: 1 }');
    replaceLink(join(volume, 'polygate.yaml'), file);
    assert.equal(await next(), 2);
    for (const port of [3, 4]) {
      replaceLink(version(volume, port), data);
      assert.equal(await next(), port);
    }
    writeFileSync(join(volume, 'version-4', 'polygate.yaml'), 'server: { port: 5 }');
    assert.equal(await next(), 5);
  });

  test('is a new configuration where it is a folder above', async (context) => {
    const { file, next, path } = watched(context, 'server: { port: 1 }', (folder) => {
      replaceLink(version(folder, 1), join(folder, 'current'));
      return join('current', 'polygate.yaml');
    });
    for (const port of [2, 3]) {
      replaceLink(version(dirname(file), port), join(dirname(file), 'current'));
      assert.equal(await next(), port);
    }
    writeFileSync(path, 'server: { port: 4 }');
    assert.equal(await next(), 4);
  });

  test('in a circle is reported as a file that is gone', async (context) => {
    const { file, next } = watched(context, 'server: { port: 1 }');
    replaceLink(`${file}.other`, file);
    replaceLink(file, `${file}.other`);
    assert.match(String(await next()), /polygate\.yaml/);
    rmSync(file);
    writeFileSync(file, 'server: { port: 2 }');
    assert.equal(await next(), 2);
  });
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

test('a reload on demand reads the files of variables again, also where the configuration has no file', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-reload-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'port');
  writeFileSync(file, '6\n');
  const { file: _, ...source } = sourceWith({ PORT_FILE: file });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the file's own reference to the environment
  const text = '{ server: { port: "${PORT}" } }';
  const reloaded = () =>
    new Promise((resolve) => {
      const alive = setInterval(() => {}, 1000);
      const settle = (what: unknown) => {
        clearInterval(alive);
        watcher.close();
        resolve(what);
      };
      const watcher = watchConfig({
        source: { ...source, text },
        onChange: ({ server }) => settle(server.port),
        onInvalid: ({ message }) => settle(message),
      });
      watcher.reload();
    });
  assert.equal(await reloaded(), 6);
  writeFileSync(file, '7\n');
  assert.equal(await reloaded(), 7);
  rmSync(file);
  assert.equal(await reloaded(), `POLYGATE_CONFIG:1: server.port: PORT_FILE: ${file} does not exist`);
});

describe('a file that is emptied', () => {
  test('for a moment is read once it is written, and never as an empty configuration', async (context) => {
    const { file, clock, noticed, next } = watched(context, 'server: { port: 1 }');
    for (const port of [2, 3]) {
      truncateSync(file);
      await noticed();
      clock.advance(20);
      appendFileSync(file, `server: { port: ${port} }`);
      assert.equal(await next(), port);
    }
  });

  for (const [what, text] of [
    ['blanks', ' \n\t\n'],
    ['a comment', '# port: 9\n'],
    ['a document mark', '---\n# nothing\n'],
    ['nothing', ''],
  ] as const) {
    test(`for good, with ${what} left, is reported, and the next one with content counts`, async (context) => {
      const { file, watcher, next } = watched(context, 'server: { port: 1 }');
      writeFileSync(file, text);
      assert.match(String(await next()), /polygate\.yaml is empty.*write \{\}/);
      watcher.reload();
      assert.match(String(await next()), /polygate\.yaml is empty/, 'also where a reload is asked for');
      writeFileSync(file, 'server: { port: 4 }');
      assert.equal(await next(), 4);
    });
  }

  test('by an empty mapping means the defaults', async (context) => {
    const { file, next } = watched(context, 'server: { port: 1 }');
    writeFileSync(file, '{}');
    assert.equal(await next(), 8080);
  });

  test('was empty before, so that it may be empty again', async (context) => {
    const { file, watcher, next } = watched(context, '# nothing yet');
    writeFileSync(file, '# still nothing');
    assert.equal(await next(), 8080);
    watcher.reload();
    assert.equal(await next(), 8080);
  });
});

test('a file that is written piece by piece is read when it is whole', async (context) => {
  const { file, clock, noticed, next, arrived } = watched(context, 'server: { port: 1 }');
  writeFileSync(file, 'server:\n  port: 2\n');
  for (const line of ['keys:', '  - name: a', '    key: 0123456789abcdef', 'data: ./elsewhere']) {
    await noticed();
    clock.advance(SETTLE_MS - 1);
    appendFileSync(file, `${line}\n`);
  }
  appendFileSync(file, 'admin: {}\n');
  assert.equal(await next(), 2);
  clock.advance(10 * SETTLE_MS);
  assert.deepEqual(arrived, [], 'pieces are no configurations');
});

test('a reload on demand waits for a write in progress', async (context) => {
  const { file, watcher, clock, next } = watched(context, 'server: { port: 1 }');
  truncateSync(file);
  watcher.reload();
  clock.advance(SETTLE_MS - 1);
  writeFileSync(file, 'server: { port: 7 }');
  assert.equal(await next(), 7);
});
