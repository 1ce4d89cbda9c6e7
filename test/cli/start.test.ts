/** The start of the program: modules that wait until they are needed, and a bound of the modules that it loads. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { program } from './program.ts';

const MAX_FILES = 1250;
const MAX_OWN_FILES = 800;
/** Reports the modules of the process to standard error once it listens. */
const REPORTER = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { isMainThread } from 'node:worker_threads';
  const files = new Set();
  registerHooks({
    load(url, context, next) {
      files.add(url);
      return next(url, context);
    },
  });
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = (text, ...rest) => {
    if (isMainThread && String(text).includes('Ctrl-C'))
      write('loaded ' + JSON.stringify({ files: [...files], builtin: process.moduleLoadList }) + '\\n');
    return write(text, ...rest);
  };
`)}`;

test('a start loads only what it needs', async (context) => {
  const gateway = program(context).start(['serve', '--port', '0'], { NODE_OPTIONS: `--import ${REPORTER}` });
  const [, report = ''] = await gateway.shows(/loaded (\{.*\})\n/, 'stderr');
  const { files, builtin }: { files: string[]; builtin: string[] } = JSON.parse(report);
  for (const unneeded of [
    'pg',
    'prom-client',
    '@opentelemetry/sdk-trace',
    '@opentelemetry/sdk-metrics',
    '@opentelemetry/exporter-trace-otlp-http',
    'typebox/build/compile',
    'fastify',
    'ajv',
  ]) {
    assert.deepEqual(
      files.filter((url) => url.includes(`/node_modules/${unneeded}/`)),
      [],
      unneeded,
    );
  }
  // Its parts are enough.
  assert.ok(!files.some((url) => url.endsWith('/node_modules/undici/index.js')));
  for (const unneeded of ['http', 'internal/deps/undici/undici'])
    assert.ok(!builtin.includes(`NativeModule ${unneeded}`), unneeded);
  const own = files.filter((url) => url.startsWith('file:') && !url.includes('/node_modules/'));
  const loaded = files.filter((url) => url.startsWith('file:'));
  assert.deepEqual(
    own.filter((url) => /\/(?:identity\/|token-source)/.test(url)),
    [],
  );
  assert.ok(own.length <= MAX_OWN_FILES, `${own.length} files of the project`);
  assert.ok(loaded.length <= MAX_FILES, `${loaded.length} files`);
});

/**
 * Reports the flags of V8 that the start sets until its banner, and right after it. The second after which compilers start in any
 * case never passes, however busy the machine is.
 */
const FLAG_REPORTER = `data:text/javascript,${encodeURIComponent(`
  import v8 from 'node:v8';
  import { syncBuiltinESMExports } from 'node:module';
  import { isMainThread } from 'node:worker_threads';
  const { setFlagsFromString } = v8;
  const flags = [];
  v8.setFlagsFromString = (flag) => { flags.push(flag); setFlagsFromString(flag); };
  syncBuiltinESMExports();
  const after = globalThis.setTimeout;
  globalThis.setTimeout = (run, ms, ...rest) => after(run, ms === 1000 ? 2 ** 31 - 1 : ms, ...rest);
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = (text, ...rest) => {
    if (isMainThread && String(text).includes('Ctrl-C')) {
      const start = flags.splice(0);
      process.nextTick(() => write('flags ' + JSON.stringify({ start, end: flags }) + '\\n'));
    }
    return write(text, ...rest);
  };
`)}`;

test('a start sets the flags of garbage collection, delays compilers until its end, and lets them inline more', async (context) => {
  const gateway = program(context).start(['serve', '--port', '0'], { NODE_OPTIONS: `--import ${FLAG_REPORTER}` });
  const [, report = ''] = await gateway.shows(/flags (\{.*\})\n/, 'stderr');
  const { start, end }: { start: string[]; end: string[] } = JSON.parse(report);
  assert.deepEqual(start.slice(0, 3), ['--no-sparkplug', '--no-maglev', '--no-turbofan']);
  for (const flag of [
    '--no-parallel-scavenge',
    '--no-memory-reducer-favors-memory',
    '--max-inlined-bytecode-size=1000',
    '--max-inlined-bytecode-size-cumulative=2000',
  ]) {
    assert.ok(start.includes(flag), flag);
  }
  const compilers = ['--sparkplug', '--maglev', '--turbofan'];
  assert.deepEqual(
    start.filter((flag) => compilers.includes(flag)),
    [],
  );
  assert.deepEqual(end, compilers);
});
