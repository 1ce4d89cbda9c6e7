/**
 * Check of the image: built twice by buildah on a base of Debian packages, compared, looked into, and started as it would be
 * run, without capabilities on a read-only root.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runOrThrow, run as runProgram } from './deploy-tools.mjs';
import { checkContents } from './image-contents.mjs';
import { root } from './install.mjs';

const USER_ID = 65532;
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const KEY = 'a-first-key-of-a-test-0123456789abcdef';
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 45_000;
/** Size of the image without its base: node is 121 MB. */
const MAX_IMAGE_MB = 220;
/** A variable of the machine that builds, which must not be found in the image. */
const CANARY = 'POLYGATE_BUILD_CANARY';

/** Of the folder, everything may be deleted afterwards. */
export async function checkImage({ tools, folder, node, npmFolder }) {
  const env = { ...process.env, BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'vfs', [CANARY]: randomUUID() };
  const store = ['--root', join(folder, 'graph'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
  const buildah = (...args) => runOrThrow(tools.buildah, [...store, ...args], { cwd: root, env }).stdout.trim();

  function importRoot(name, variant, change = () => {}) {
    const archive = join(folder, `${name}.tar`);
    runOrThrow(tools.mmdebstrap, [
      '--quiet',
      `--variant=${variant}`,
      '--include=libstdc++6,ca-certificates',
      'bookworm',
      archive,
    ]);
    const container = buildah('from', 'scratch');
    buildah('add', container, archive, '/');
    change(container);
    buildah('commit', '--quiet', container, `localhost/${name}`);
    buildah('rm', container);
  }
  importRoot('base', 'extract');
  importRoot('node', 'essential', (container) => {
    const npm = join(folder, 'npm');
    writeFileSync(npm, '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n');
    chmodSync(npm, 0o755);
    buildah('copy', container, node, '/usr/local/bin/node');
    buildah('copy', container, npmFolder, '/usr/local/lib/node_modules/npm');
    buildah('copy', container, npm, '/usr/local/bin/npm');
    // Certificates of this machine, for the package registry.
    buildah('copy', container, CERTIFICATES, CERTIFICATES);
    buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, container);
  });
  const images = ['--build-arg', 'NODE_IMAGE=localhost/node', '--build-arg', 'BASE_IMAGE=localhost/base'];
  // The time of the commit, which a release takes.
  const timestamp = runOrThrow('git', ['log', '-1', '--format=%ct'], { cwd: root }).stdout.trim();
  const build = (tag) => {
    const options = ['--format', 'docker', '--no-cache', '--timestamp', timestamp, ...images];
    buildah('build', ...options, '--file', 'deploy/Containerfile', '--tag', tag, '.');
    return inspect(buildah, tag);
  };
  const [first, second] = ['localhost/polygate', 'localhost/polygate-again'].map(build);
  assert.deepEqual(second, first, 'two builds of the image differ');
  const container = buildah('from', 'localhost/polygate');
  const mount = buildah('mount', container);
  const size = Number(runOrThrow('du', ['-sm', mount]).stdout.split('\t')[0]);
  assert.ok(size <= MAX_IMAGE_MB, `the image has ${size} MB`);
  checkContents(mount, first.config, { canaries: [env[CANARY]] });
  await startAndStop({ mount, folder });
  return `${size} MB with its base`;
}

/** The configuration of an image, and what of it two builds have in common: the digests of its layers and its times. */
function inspect(buildah, tag) {
  const { Docker, OCIv1 } = JSON.parse(buildah('inspect', '--type', 'image', tag));
  // Buildah's id of the container of a build; a container gets a name when it is started.
  const { Hostname: _, ...config } = Docker.config;
  return { config, layers: OCIv1.rootfs.diff_ids, created: Docker.created };
}

async function startAndStop({ mount, folder }) {
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(data, 0o770);
  chownSync(data, USER_ID, 0);
  writeFileSync(join(data, 'first_key'), KEY, { mode: 0o644 });
  const port = await freePort();
  const inside = (command) => {
    const script = [
      'set -e; mount --bind "$1" "$1"; mount --bind "$2" "$1/var/lib/polygate"; mount -t tmpfs tmpfs "$1/tmp"',
      'mount -o remount,bind,ro "$1" "$1"; root=$1; shift 2',
      `exec setpriv --no-new-privs chroot --userspec=${USER_ID}:${USER_ID} --groups= "$root" "$@"`,
    ].join('; ');
    return ['--mount', 'sh', '-c', script, 'sh', mount, data, ...command];
  };
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
    POLYGATE_FIRST_KEY_FILE: '/var/lib/polygate/first_key',
    POLYGATE_CONFIG: '{ data: /var/lib/polygate/data }',
  };
  const serve = ['/usr/local/bin/node', '/app/dist/main.js', 'serve', '--host', '127.0.0.1', '--port', String(port)];
  const child = spawn('unshare', inside(serve), { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  const ended = once(child, 'exit');
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url, () => `the image does not become ready: ${log}`);
    const health = runProgram('unshare', inside(['/usr/local/bin/polygate', 'health', '--port', String(port)]), {
      env,
    });
    assert.equal(health.code, 0, health.output);
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    assert.equal(response.status, 200, await response.text());
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    assert.match(status, new RegExp(`^Uid:\\s+${USER_ID}\\s`, 'm'));
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
  } finally {
    child.kill('SIGTERM');
  }
  const result = await Promise.race([ended, pause(STOP_TIMEOUT_MS).then(() => ['no end'])]);
  assert.equal(result[0], 0, `the image did not stop in peace: ${log}`);
}

export async function untilReady(url, explain) {
  for (const end = Date.now() + READY_TIMEOUT_MS; Date.now() < end; await pause(200)) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    if (response?.status === 200) return;
  }
  throw new Error(explain());
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
