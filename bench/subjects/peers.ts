/**
 * Other gateways, for comparison: installed by `--peers` into a folder of the user's cache, and measured whenever they are there.
 * They are no dependencies of the project.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, folderOf, isInstalled, PEER_KEY, PEER_MODEL, type Peer, runInstaller } from './peer.ts';

const PORTKEY = { name: 'portkey', version: '1.15.2' };
/** As in its image: it cannot stream with the newest one, which npm would choose. */
const PORTKEY_PACKAGE = { private: true, overrides: { '@hono/node-server': '1.13.5' } };
const PORTKEY_PROGRAM = join(folderOf(PORTKEY), 'node_modules/@portkey-ai/gateway/build/start-server.js');

const portkey: Peer = {
  ...PORTKEY,
  program: PORTKEY_PROGRAM,
  async install() {
    const folder = folderOf(PORTKEY);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify(PORTKEY_PACKAGE));
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder];
    await runInstaller('npm', ['install', ...flags, `@portkey-ai/gateway@${PORTKEY.version}`]);
  },
  command: ({ port, baseUrl }) => ({
    program: process.execPath,
    args: [PORTKEY_PROGRAM, `--port=${port}`, '--headless'],
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': baseUrl },
  }),
};

const LITELLM = { name: 'litellm', version: '1.106.12' };
const LITELLM_PROGRAM = join(folderOf(LITELLM), 'bin/litellm');

const litellm: Peer = {
  ...LITELLM,
  program: LITELLM_PROGRAM,
  async install() {
    const folder = folderOf(LITELLM);
    await runInstaller('python3', ['-m', 'venv', folder]);
    await runInstaller(join(folder, 'bin/pip'), ['install', '-q', `litellm[proxy]==${LITELLM.version}`]);
  },
  command({ port, baseUrl, folder }) {
    const file = join(folder, 'config.yaml');
    writeFileSync(
      file,
      `model_list: [{ model_name: ${PEER_MODEL}, litellm_params: { model: openai/${PEER_MODEL}, api_base: "${baseUrl}", api_key: none } }]
general_settings: { master_key: ${PEER_KEY} }
litellm_settings: { telemetry: false, set_verbose: false, json_logs: true }
`,
    );
    return {
      program: LITELLM_PROGRAM,
      args: ['--config', file, '--port', String(port), '--host', '127.0.0.1'],
      env: {
        ...{ LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
        NO_PROXY: '127.0.0.1',
      },
    };
  },
};

const NOVEUM = { name: 'noveum', version: '2.0.1' };
const NOVEUM_PROGRAM = join(folderOf(NOVEUM), 'bin/noveum-ai-gateway');

const noveum: Peer = {
  ...NOVEUM,
  program: NOVEUM_PROGRAM,
  install: () =>
    runInstaller('cargo', [
      ...['install', 'noveum-ai-gateway', '--version', NOVEUM.version, '--locked', '--root', folderOf(NOVEUM)],
    ]),
  command: ({ port, baseUrl }) => ({
    program: NOVEUM_PROGRAM,
    args: [],
    env: { PORT: String(port), RUST_LOG: 'info', OPENAI_BASE_URL: baseUrl.replace(/\/v1$/, '') },
    headers: { 'x-provider': 'openai' },
  }),
};

export const peers: readonly Peer[] = [portkey, litellm, noveum];

export async function installPeers(say: (text: string) => void): Promise<void> {
  for (const peer of peers) {
    if (isInstalled(peer)) continue;
    say(`installing ${peer.name} ${peer.version} in ${CACHE}`);
    try {
      await peer.install();
    } catch (error) {
      say(`${peer.name} cannot be installed: ${(error as Error).message}`);
    }
  }
}
