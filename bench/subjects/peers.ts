/**
 * Other gateways, for comparison: installed by `--peers` into a folder of the user's cache, and measured whenever they are there.
 * They are no dependencies of the project.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { delay, freePort, startChild, temporaryFolder } from '../host/children.ts';
import { requestBytes } from '../load/connection.ts';
import { passthrough, type Workload } from '../workload.ts';
import type { Subject, Upstreams } from './subject.ts';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'polygate-bench');
const INSTALL_TIMEOUT_MS = 10 * 60_000;
const START_TIMEOUT_MS = 60_000;
const KEY = 'sk-peer-0123456789';

const run = promisify(execFile);

export interface Peer {
  name: string;
  version: string;
  isInstalled(): boolean;
  install(): Promise<void>;
  start(upstreams: Upstreams): Promise<Subject>;
}

const PORTKEY_FOLDER = join(CACHE, 'portkey');
const PORTKEY_PROGRAM = join(PORTKEY_FOLDER, 'node_modules/@portkey-ai/gateway/build/start-server.js');

const portkey: Peer = {
  name: 'portkey',
  version: '1.15.2',
  isInstalled: () => existsSync(PORTKEY_PROGRAM),
  async install() {
    mkdirSync(PORTKEY_FOLDER, { recursive: true });
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', PORTKEY_FOLDER];
    await run('npm', ['install', ...flags, `@portkey-ai/gateway@${portkey.version}`], { timeout: INSTALL_TIMEOUT_MS });
  },
  start: (upstreams) =>
    startPeer(portkey, {
      command: (port) => [process.execPath, PORTKEY_PROGRAM, `--port=${port}`, '--headless'],
      headers: {
        authorization: `Bearer ${KEY}`,
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${upstreams.instant}/instant/v1`,
      },
      model: 'm',
    }),
};

const LITELLM_FOLDER = join(CACHE, 'litellm');
const LITELLM_PROGRAM = join(LITELLM_FOLDER, 'bin/litellm');

const litellm: Peer = {
  name: 'litellm',
  version: '1.106.2',
  isInstalled: () => existsSync(LITELLM_PROGRAM),
  async install() {
    await run('python3', ['-m', 'venv', LITELLM_FOLDER], { timeout: INSTALL_TIMEOUT_MS });
    const pip = join(LITELLM_FOLDER, 'bin/pip');
    await run(pip, ['install', '-q', `litellm[proxy]==${litellm.version}`], { timeout: INSTALL_TIMEOUT_MS });
  },
  start(upstreams) {
    const file = join(temporaryFolder(), 'config.yaml');
    writeFileSync(
      file,
      `model_list: [{ model_name: m, litellm_params: { model: openai/m, api_base: "${upstreams.instant}/instant/v1", api_key: none } }]
general_settings: { master_key: ${KEY} }
litellm_settings: { telemetry: false }
`,
    );
    return startPeer(litellm, {
      command: (port) => [LITELLM_PROGRAM, '--config', file, '--port', String(port), '--host', '127.0.0.1'],
      env: { LITELLM_MODE: 'PRODUCTION', LITELLM_LOCAL_MODEL_COST_MAP: 'True', NO_PROXY: '127.0.0.1' },
      headers: { authorization: `Bearer ${KEY}` },
      model: 'm',
    });
  },
};

export const peers: readonly Peer[] = [portkey, litellm];

export async function installPeers(say: (text: string) => void): Promise<void> {
  for (const peer of peers) {
    if (peer.isInstalled()) continue;
    say(`installing ${peer.name} ${peer.version} in ${CACHE}`);
    try {
      await peer.install();
    } catch (error) {
      say(`${peer.name} cannot be installed: ${(error as Error).message.split('\n')[0]}`);
    }
  }
}

interface PeerProgram {
  command(port: number): string[];
  env?: Record<string, string>;
  headers: Record<string, string>;
  model: string;
}

/** Ready when it answers a request of the workload. */
async function startPeer({ name }: Peer, { command, env = {}, headers, model }: PeerProgram): Promise<Subject> {
  const port = await freePort();
  const began = performance.now();
  const [program = '', ...args] = command(port);
  const child = startChild(program, args, { folder: temporaryFolder(), env });
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}${passthrough.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: passthrough.body(model),
    }).then(
      async (response) => response.ok && (await response.arrayBuffer()).byteLength > 0,
      () => false,
    );
  while (!(await isUp())) {
    if (performance.now() - began > START_TIMEOUT_MS) {
      await child.stop();
      throw new Error(`${name} does not answer`);
    }
    await delay(100);
  }
  return {
    ...{ name, pid: child.pid, readyAfter: performance.now() - began, answered: 0 },
    target: (workload: Workload) =>
      workload === passthrough
        ? { port, bytes: requestBytes(workload.path, { headers, body: workload.body(model) }) }
        : undefined,
    stop: () => child.stop(),
  };
}
