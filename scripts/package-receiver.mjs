/** Test of `@polygate/webhooks` and of the export `polygate/webhooks`: installed, compiled and run as a receiver uses them. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

const COMPILER = join(root, 'node_modules/typescript/bin/tsc');
/** Module systems of receivers: `module`, `moduleResolution`. */
const RESOLUTIONS = [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
];

const BODY = '{"event":"video.generation.completed","id":"a","created_at":1,"data":{"id":"a","status":"completed"}}';
const CHECKS = `
const body = ${JSON.stringify(BODY)};
const signature = createHmac('sha256', 'whsec_of-a-test').update(body).digest('base64url');
console.log(verifyWebhook(Buffer.from(body), { 'x-service-signature': signature }, 'whsec_of-a-test').data.status);
console.log(verifyWebhook(body, new Headers({ 'X-Service-Signature': signature }), ['whsec_of-a-test']).event);
try {
  verifyWebhook(Buffer.from(body), {}, 'whsec_of-a-test');
} catch (error) {
  if (error instanceof WebhookError) console.log('refused');
}
`;
const OUTPUT = 'completed\nvideo.generation.completed\nrefused\n';

/** Without the types of Node, which a receiver need not have. */
const TYPED = `import { verifyWebhook, type Webhook, WebhookError } from '@polygate/webhooks';

export function statusOf(body: Uint8Array, headers: Headers | Record<string, string | undefined>): Webhook['data']['status'] {
  try {
    return verifyWebhook(body, headers, ['one', 'two']).data.status;
  } catch (error) {
    if (error instanceof WebhookError) return 'failed';
    throw error;
  }
}
`;

/** Uses the package in a folder in which nothing else is installed. `run` returns the output of a program there. */
export async function useReceiverPackage(node, { folder, run }) {
  assert.deepEqual(readdirSync(join(folder, 'node_modules')).filter(isPackage), ['@polygate']);
  assert.ok(existsSync(join(folder, 'node_modules', '@polygate', 'webhooks', 'LICENSE')));
  writeFileSync(join(folder, 'typed.ts'), TYPED);
  for (const resolution of RESOLUTIONS) await compile(node, { run, resolution, file: 'typed.ts', types: [] });
  const ways = {
    'receiver.mjs':
      "import { createHmac } from 'node:crypto';\nimport { verifyWebhook, WebhookError } from '@polygate/webhooks';",
    'receiver.cjs':
      "const { createHmac } = require('node:crypto');\nconst { verifyWebhook, WebhookError } = require('@polygate/webhooks');",
    'receiver.ts':
      "import { createHmac } from 'node:crypto';\nimport { verifyWebhook, WebhookError } from '@polygate/webhooks';",
  };
  for (const [file, head] of Object.entries(ways)) {
    writeFileSync(join(folder, file), `${head}\n${CHECKS}`);
    assert.equal(await run(node, [file]), OUTPUT, file);
  }
  return ways;
}

/** Compiles a receiver of the gateway's package with each module resolution, then runs it. */
export async function useReceiverExport(node, { folder, run }) {
  mkdirSync(folder, { recursive: true });
  const head =
    "import { createHmac } from 'node:crypto';\nimport { verifyWebhook, WebhookError } from 'polygate/webhooks';";
  writeFileSync(join(folder, 'receiver.ts'), `${head}\n${CHECKS}`);
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')];
  for (const resolution of RESOLUTIONS) await compile(node, { run, resolution, file: 'receiver.ts', types });
  assert.equal(await run(node, ['receiver.ts']), OUTPUT);
}

function compile(node, { run, resolution: [module, moduleResolution], file, types }) {
  const flags = ['--noEmit', '--strict', '--target', 'es2024', '--module', module];
  return run(node, [COMPILER, ...flags, '--moduleResolution', moduleResolution, ...types, file]);
}

function isPackage(name) {
  return !name.startsWith('.');
}
