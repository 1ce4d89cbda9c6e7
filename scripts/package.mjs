/**
 * `npm run test:package`: tests the npm package. Builds, packs and installs it in an empty folder, makes a video with the
 * program, compiles and runs a webhook receiver, and bounds what a start costs.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { environment, nodeProgram, npm, root, run, say } from './install.mjs';
import { pack } from './pack.mjs';
import { greeting, measureBestStart, sizeOf } from './start-cost.mjs';

const VIDEO_TIMEOUT_MS = 20_000;
const VISIT_TIMEOUT_MS = 40_000;
/** What a start may cost: processor time until it listens, and resident memory a second later. */
const BOUNDS = { cpuMs: 750, rssMb: 135, installedMb: 8 };
const START_TRIES = 5;
/** Tests that start the program. */
const PROGRAM_TESTS = ['cli/programs.test', 'cli/serve.test'];

const RECEIVER = `import { verifyWebhook, type Webhook, WebhookError } from 'polygate/webhooks';

try {
  const webhook: Webhook = verifyWebhook(Buffer.from('{}'), {}, 'whsec_of-a-test');
  console.log(webhook.data.status);
} catch (error) {
  if (error instanceof WebhookError) console.log('refused');
}
`;

const folder = mkdtempSync(join(tmpdir(), 'polygate-package-'));
const program = join(folder, 'node_modules', 'polygate', 'dist', 'main.js');
try {
  const node = await nodeProgram();
  await runOrThrow(node, [join(root, 'scripts', 'build.mjs')]);
  await install();
  await useProgram(node);
  await useReceiver(node);
  await testProgram(node);
  if (process.platform === 'linux') await boundCost(node);
  say('The package works.');
} catch (error) {
  say(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function install() {
  const file = await pack(folder);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await npm(
    ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', file],
    folder,
  );
}

/** Runs commands; makes a video with a webhook; reads metrics and sends some to a collector. */
async function useProgram(node) {
  await runOrThrow(node, [program, 'check']);
  const [receiver, collector] = await Promise.all([visited(createServer()), visited(createHttpServer())]);
  writeFileSync(join(folder, 'polygate.yaml'), configFor(collector.port));
  const child = spawn(node, [program, 'serve', '--port', '0'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    const banner = await greeting(child);
    const [, url] = /listens on (\S+)/.exec(banner);
    const [key] = /sk-pg-\S+/.exec(banner);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const bytes = await makeVideo(url, headers, `https://127.0.0.1:${receiver.port}/`);
    assert.equal(Buffer.from(bytes).toString('latin1', 4, 8), 'ftyp', 'the video is no MP4');
    await receiver.visit;
    await chat(url, headers);
    assert.match(await (await fetch(`${url}/metrics`)).text(), /process_cpu_seconds_total/);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
  assert.equal(child.exitCode, 0, 'the gateway did not stop in peace');
  await collector.visit;
  rmSync(join(folder, 'polygate.yaml'));
}

function configFor(collectorPort) {
  return JSON.stringify({
    callbacks: { allow_cidrs: ['127.0.0.1/32'] },
    telemetry: { otlp: { endpoint: `http://127.0.0.1:${collectorPort}` } },
  });
}

/** A server that notes the first connection, and ends it and all others. */
async function visited(server) {
  let note;
  const visit = new Promise((resolve, reject) => {
    note = resolve;
    setTimeout(
      () => reject(new Error('Nothing came to a server that the gateway must call.')),
      VISIT_TIMEOUT_MS,
    ).unref();
  });
  visit.catch(() => undefined);
  server.on('connection', (socket) => {
    note();
    socket.destroy();
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return { port: server.address().port, visit };
}

async function chat(url, headers) {
  const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  assert.equal(response.status, 200, await response.text());
}

/** Prints what a start costs, and fails above the bounds. */
async function boundCost(node) {
  const starts = mkdtempSync(join(folder, 'starts-'));
  const start = await measureBestStart(node, { args: [program], folder: starts, tries: START_TRIES });
  const cost = { ...start, installedMb: sizeOf(join(folder, 'node_modules')) };
  for (const [name, bound] of Object.entries(BOUNDS)) say(`${name} ${cost[name].toFixed(1)} (at most ${bound})`);
  say(`readyMs ${cost.readyMs.toFixed(1)}`);
  const excess = Object.entries(BOUNDS).filter(([name, bound]) => cost[name] > bound);
  assert.deepEqual(excess, [], 'the package costs too much');
}

async function makeVideo(url, headers, receiver) {
  const video = { model: 'sandbox/video', prompt: 'A paper boat', duration: 1, resolution: '480p' };
  const body = JSON.stringify({ ...video, callback_url: receiver });
  const made = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body });
  assert.equal(made.status, 202, await made.clone().text());
  const { id } = await made.json();
  for (const end = Date.now() + VIDEO_TIMEOUT_MS; Date.now() < end; await pause(250)) {
    const { status } = await (await fetch(`${url}/v1/videos/${id}`, { headers })).json();
    if (status === 'completed') return (await fetch(`${url}/v1/videos/${id}/content`, { headers })).arrayBuffer();
  }
  throw new Error(`The video ${id} was not completed in time.`);
}

/** Runs the tests of the program with the installed one. */
async function testProgram(node) {
  const env = { ...environment, POLYGATE_PROGRAM: program };
  const code = await run(node, [join(root, 'scripts', 'test.mjs'), ...PROGRAM_TESTS], { env });
  if (code !== 0) throw new Error('The tests of the program failed with the installed package.');
}

/** Compiles the receiver with each module resolution, then runs it. */
async function useReceiver(node) {
  writeFileSync(join(folder, 'receiver.ts'), RECEIVER);
  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const flags = ['--noEmit', '--strict', '--target', 'es2024', '--module', module];
    const types = ['--moduleResolution', moduleResolution, '--types', 'node'];
    const typeRoots = ['--typeRoots', join(root, 'node_modules', '@types')];
    await runOrThrow(node, [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...flags,
      ...types,
      ...typeRoots,
      'receiver.ts',
    ]);
  }
  assert.equal(await runOrThrow(node, ['receiver.ts']), 'refused\n');
}

/** Runs a program and returns its output. Throws with the output if it fails. */
async function runOrThrow(program, args) {
  let output = '';
  const onOutput = (text) => {
    output += text;
  };
  const code = await run(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], onOutput });
  if (code !== 0) throw new Error(`${output}${args.join(' ')} ended with exit code ${code}.`);
  return output;
}
