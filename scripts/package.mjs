/**
 * `npm run test:package`: tests the npm packages. Builds, packs and installs them in empty folders; times the way to the
 * first response, makes a video with the program, compiles and runs webhook receivers, asks versions of Node that are too
 * old, and bounds what a start costs.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { environment, installPackages, nodeProgram, npm, root, run, say } from './install.mjs';
import { pack, packReceiver } from './pack.mjs';
import { useReceiverExport, useReceiverPackage } from './package-receiver.mjs';
import { writeSboms } from './sbom.mjs';
import { greeting, measureBareStart, measureBestStart, sizeOf } from './start-cost.mjs';

const VIDEO_TIMEOUT_MS = 20_000;
const VISIT_TIMEOUT_MS = 40_000;
/**
 * What a start may cost: processor time by that of a bare start of Node, time until it listens, and resident memory when it
 * idles. The time is that on a busy machine; the release, with a machine to itself, sets its own bound.
 */
const BOUNDS = { cpuRatio: 9, readyMs: Number(process.env.READY_WITHIN_MS ?? 3000), rssMb: 110, installedMb: 6 };
const START_TRIES = 5;
/** From the command that installs the package, with an empty cache, to the first response of a model. */
const FIRST_RESPONSE_MS = 60_000;
/** Libraries of each kind that the package has parts of. */
const LICENSED = ['undici', 'pgpass', 'react-dom', 'tailwindcss', '@fontsource-variable/geist'];
/** Tests that start the program. */
const PROGRAM_TESTS = ['cli/programs.test', 'cli/serve.test'];

const folder = mkdtempSync(join(tmpdir(), 'polygate-package-'));
const program = join(folder, 'node_modules', 'polygate', 'dist', 'polygate.cjs');
try {
  const node = await nodeProgram();
  await runOrThrow(node, [join(root, 'scripts', 'build.mjs')]);
  await startFirst(node);
  await checkLicences();
  await useProgram(node);
  await useReceiverExport(node, { folder, run: runOrThrow });
  await useReceiver(node);
  if (process.platform === 'linux') await askOldNodes();
  await testProgram(node);
  if (process.platform === 'linux') await boundCost(node);
  say('The packages work.');
} catch (error) {
  say(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** As a newcomer does: an empty folder and an empty cache, a key from the output of a command, then a request. */
async function startFirst(node) {
  const file = await pack(folder);
  const startedAt = performance.now();
  await install(folder, file);
  const PATH = `${dirname(node)}${delimiter}${process.env.PATH}`;
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env;
  const env = { ...inherited, PATH, HOME: folder, XDG_CACHE_HOME: '' };
  const windows = process.platform === 'win32';
  const options = { cwd: folder, env, shell: windows };
  let key = '';
  const onOutput = (text) => {
    key += text;
  };
  const create = ['polygate', 'keys', 'create', '--name', 'first'];
  const code = await run('npx', create, { ...options, stdio: ['ignore', 'pipe', 'inherit'], onOutput });
  assert.equal(code, 0);
  assert.match(key, /^sk-pg-\S+\n$/, 'standard output holds more than the key');
  const child = spawn('npx', ['polygate', '--port', '0'], {
    ...options,
    // A signal to npx alone would not reach the gateway.
    detached: !windows,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const [, url] = /listens on (\S+)/.exec(await greeting(child));
  await chat(url, { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' });
  const elapsedMs = performance.now() - startedAt;
  if (windows) child.kill();
  else process.kill(-child.pid, 'SIGINT');
  await once(child, 'close');
  rmSync(join(folder, 'data'), { recursive: true });
  say(`first response after ${(elapsedMs / 1000).toFixed(1)} s (at most ${FIRST_RESPONSE_MS / 1000})`);
  assert.ok(elapsedMs < FIRST_RESPONSE_MS, 'the first response took too long');
  assert.equal(output, '', 'the gateway writes to standard output');
  if (!windows) assert.equal(readdirSync(join(folder, '.cache', 'polygate', 'compiled')).length, 1);
}

/**
 * Of the program's libraries, of the pages' and of their fonts; the build refuses a library without an allowed licence.
 * Each is in the lists of libraries that a release has.
 */
async function checkLicences() {
  const text = readFileSync(join(folder, 'node_modules', 'polygate', 'dist', 'LICENSES.txt'), 'utf8');
  for (const name of LICENSED) assert.match(text, new RegExp(`^${name} \\d`, 'm'), 'LICENSES.txt lacks a library');
  const listed = await writeSboms(join(folder, 'sboms'));
  for (const [, library] of text.matchAll(/^(\S+ \d\S*) \([\w.-]+\)$/gm))
    assert.ok(listed.has(library), `no list of libraries has ${library}`);
}

async function install(target, file) {
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await npm(['install', '--ignore-scripts', '--cache', join(target, 'npm-cache'), ...quiet, file], target);
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
  const start = await measureBestStart(node, {
    ...{ args: [program], folder: starts, tries: START_TRIES, idleMb: BOUNDS.rssMb },
  });
  const cpuRatio = start.cpuMs / (await measureBareStart(node, START_TRIES));
  const cost = { ...start, cpuRatio, installedMb: sizeOf(join(folder, 'node_modules')) };
  for (const [name, bound] of Object.entries(BOUNDS)) say(`${name} ${cost[name].toFixed(1)} (at most ${bound})`);
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

/** The receiver's package in a folder of its own. */
async function useReceiver(node) {
  const target = join(folder, 'receiver');
  await install(target, await packReceiver(folder));
  const receivers = await useReceiverPackage(node, { folder: target, run: (...call) => runOrThrow(...call, target) });
  for (const old of await oldNodes()) {
    for (const file of Object.keys(receivers).filter((name) => !name.endsWith('.ts')))
      if (!old.includes('node-16')) await runOrThrow(old, [file], target);
  }
}

/** The program says in one line what to type. */
async function askOldNodes() {
  for (const old of await oldNodes()) {
    let text = '';
    const onOutput = (chunk) => {
      text += chunk;
    };
    const code = await run('/bin/sh', ['-c', '"$0" "$1" serve 2>&1', old, program], {
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput,
    });
    assert.equal(code, 1, old);
    assert.match(
      text,
      /^Polygate needs Node \S+ or newer, and this is \S+\. Type: npx -p node@\d+ -p polygate polygate\n$/,
    );
  }
}

/** Programs of old versions of Node, where there are packages of them for this machine. */
async function oldNodes() {
  const target = join(root, '.node', 'old');
  mkdirSync(target, { recursive: true });
  for (const file of ['package.json', 'package-lock.json'])
    cpSync(join(root, 'scripts', 'old-nodes', file), join(target, file));
  await installPackages(target, 'all', 'versions of Node that are too old');
  const modules = join(target, 'node_modules');
  return readdirSync(modules)
    .filter((name) => name.startsWith('node-'))
    .map((name) => join(modules, name, 'bin', 'node'));
}

/** Runs the tests of the program with the installed one. */
async function testProgram(node) {
  const env = { ...environment, POLYGATE_PROGRAM: program };
  const code = await run(node, [join(root, 'scripts', 'test.mjs'), ...PROGRAM_TESTS], { env });
  if (code !== 0) throw new Error('The tests of the program failed with the installed package.');
}

/** Runs a program and returns its output. Throws with the output if it fails. */
async function runOrThrow(program, args, cwd = folder) {
  let output = '';
  const onOutput = (text) => {
    output += text;
  };
  const code = await run(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], onOutput });
  if (code !== 0) throw new Error(`${output}${args.join(' ')} ended with exit code ${code}.`);
  return output;
}
