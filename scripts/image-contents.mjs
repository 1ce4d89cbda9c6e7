/**
 * Check of what is in an image: `node scripts/image-contents.mjs ROOT CONFIG`, with the folder of its unpacked files, as root,
 * and a file with its configuration as JSON, as `docker inspect --format '{{json .Config}}'` prints it.
 */

import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the image has besides its base. */
const APP = ['LICENSE', 'config.schema.json', 'dist', 'package.json'];
const PROGRAMS = ['node', 'polygate'];
const DATA = 'var/lib/polygate';
/** Files of development: types, maps, sources, tests, and settings of package managers. */
const DEVELOPMENT = /\.(?:d\.[cm]?ts|map|ts|tsx)$|^(?:node_modules|test|\.npmrc|\.git|\.env)$/;
const VARIABLES = ['NODE_ENV', 'MALLOC_ARENA_MAX', 'PATH', 'SSL_CERT_FILE'];
const USER = '65532:65532';
/** A private key, a token of npm, and secrets in the spelling of this project and of providers. */
const SECRETS = [
  /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/]{40}/,
  /:_authToken\s*=/,
  /\bnpm_[A-Za-z0-9]{36}\b/,
  /\bgh[pousr]_[A-Za-z0-9]{36}\b/,
  /\bsk-(?:pg|proj|ant)-[\w-]{40}/,
  /\bwhsec_[A-Za-z0-9+/]{40}/,
];
const MAY_SET_USER = 0o6000;
const OTHERS_MAY_WRITE = 0o022;

/**
 * Throws for the first thing that should not be there. `owner` is the user that files belong to; `canaries` are texts of the
 * machine that built the image, which must not be in it.
 */
export function checkContents(root, config, { owner = 0, canaries = [] } = {}) {
  assert.deepEqual(readdirSync(join(root, 'app')).sort(), APP, 'the folder /app');
  assert.deepEqual(readdirSync(join(root, 'usr/local/bin')).sort(), PROGRAMS, 'the folder /usr/local/bin');
  assert.deepEqual(readdirSync(join(root, DATA)), [], `the folder /${DATA}`);
  for (const folder of ['app', 'usr/local/bin']) {
    for (const { path, stat } of filesBelow(join(root, folder))) {
      const name = `/${relative(root, path)}`;
      assert.ok(!DEVELOPMENT.test(path.slice(path.lastIndexOf('/') + 1)), `${name} is of development`);
      assert.equal(stat.uid, owner, `${name} belongs to another user`);
      assert.equal(stat.mode & MAY_SET_USER, 0, `${name} runs as its owner`);
      assert.equal(stat.mode & OTHERS_MAY_WRITE, 0, `others may write to ${name}`);
      if (stat.isFile() && folder === 'app') checkText(readFileSync(path, 'latin1'), name, canaries);
    }
  }
  assert.equal(config.User, USER, 'the user');
  for (const variable of config.Env ?? []) {
    const [name] = variable.split('=', 1);
    assert.ok(VARIABLES.includes(name), `the variable ${name}`);
  }
  checkText(JSON.stringify(config), 'the configuration of the image', canaries);
}

function* filesBelow(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const stat = lstatSync(path);
    yield { path, stat };
    if (stat.isDirectory()) yield* filesBelow(path);
  }
}

function checkText(text, name, canaries) {
  for (const secret of SECRETS) assert.ok(!secret.test(text), `${name} has what looks like a secret: ${secret.source}`);
  for (const canary of canaries) assert.ok(!text.includes(canary), `${name} has a text of the machine that built it`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [root, config] = process.argv.slice(2);
  checkContents(root, JSON.parse(readFileSync(config, 'utf8')));
  process.stdout.write('Nothing is in the image that should not be there.\n');
}
