/**
 * `npm run test:package`: tests the npm package. Builds, packs and installs it in an empty folder, makes a video with the
 * program, and compiles and runs a webhook receiver.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { nodeProgram, npm, root, run, say } from './install.mjs';

const VIDEO_TIMEOUT_MS = 20_000;

const RECEIVER = `import { verifyWebhook, type Webhook, WebhookError } from 'polygate/webhooks';

try {
  const webhook: Webhook = verifyWebhook(Buffer.from('{}'), {}, 'whsec_of-a-test');
  console.log(webhook.data.status);
} catch (error) {
  if (error instanceof WebhookError) console.log('refused');
}
`;

const folder = mkdtempSync(join(tmpdir(), 'polygate-package-'));
try {
  const node = await nodeProgram();
  await runOrThrow(node, [join(root, 'scripts', 'build.mjs')]);
  await install();
  await useProgram(node);
  await useReceiver(node);
  say('The package works.');
} catch (error) {
  say(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function install() {
  let packed = '';
  await npm(['pack', root, '--json', '--ignore-scripts', '--loglevel=error'], folder, (text) => {
    packed += text;
  });
  const [{ filename }] = JSON.parse(packed);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await npm(
    ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', `./${filename}`],
    folder,
  );
}

/** Runs commands and makes a video. */
async function useProgram(node) {
  const program = join(folder, 'node_modules', 'polygate', 'dist', 'main.js');
  await runOrThrow(node, [program, 'check']);
  const child = spawn(node, [program, 'serve', '--port', '0'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const banner = await greeting(child);
    const [, url] = /listens on (\S+)/.exec(banner);
    const [key] = /sk-pg-\S+/.exec(banner);
    const bytes = await makeVideo(url, { authorization: `Bearer ${key}`, 'content-type': 'application/json' });
    assert.equal(Buffer.from(bytes).toString('latin1', 4, 8), 'ftyp', 'the video is no MP4');
  } finally {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
  assert.equal(child.exitCode, 0, 'the gateway did not stop in peace');
}

async function greeting({ stdout }) {
  let text = '';
  for await (const chunk of stdout) {
    text += chunk;
    if (text.includes('Ctrl-C')) return text;
  }
  throw new Error(`The gateway ended: ${text}`);
}

async function makeVideo(url, headers) {
  const body = JSON.stringify({ model: 'sandbox/video', prompt: 'A paper boat', duration: 1, resolution: '480p' });
  const made = await fetch(`${url}/v1/videos`, { method: 'POST', headers, body });
  assert.equal(made.status, 202, await made.clone().text());
  const { id } = await made.json();
  for (const end = Date.now() + VIDEO_TIMEOUT_MS; Date.now() < end; await pause(250)) {
    const { status } = await (await fetch(`${url}/v1/videos/${id}`, { headers })).json();
    if (status === 'completed') return (await fetch(`${url}/v1/videos/${id}/content`, { headers })).arrayBuffer();
  }
  throw new Error(`The video ${id} was not completed in time.`);
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
