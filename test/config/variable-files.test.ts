// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { configOf, faultsOf } from './sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'polygate-secrets-'));
after(() => rmSync(folder, { recursive: true }));

/** Path of a new file. */
function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const KEY = 'a-key-of-a-client-0123456789';
const keys = 'keys: [{ name: ci, key: "${CI_KEY}" }]';

describe('a variable in a file', () => {
  test('is filled in without the newline at the end of the file', () => {
    for (const [name, end] of Object.entries({ none: '', unix: '\n', windows: '\r\n' })) {
      const config = configOf(keys, { CI_KEY_FILE: file(`key ${name}`, `${KEY}${end}`) });
      assert.equal(config.keys[0]?.key.reveal(), KEY, name);
    }
  });

  test('keeps its lines, and only one newline is taken off', () => {
    const { data } = configOf('data: "/${DATA}x"', { DATA_FILE: file('lines', '\ufeffa\nb\n\n') });
    assert.match(data, /a\nb\nx$/);
  });

  test('is a number where a number stands, and replaces a default', () => {
    const PORT_FILE = file('port', '81\n');
    assert.equal(configOf('server: { port: "${PORT}" }', { PORT_FILE }).server.port, 81);
    assert.equal(configOf('server: { port: "${PORT:-9}" }', { PORT_FILE }).server.port, 81);
    assert.equal(configOf('server: { port: "${PORT:-9}" }', { PORT_FILE: '' }).server.port, 9);
  });

  test('makes a provider ready, with an entry of its own and without', () => {
    const OPENAI_API_KEY_FILE = file('openai', 'sk-of-openai\n');
    const entry = 'providers: { openai: { api_key: "${OPENAI_API_KEY}" } }';
    for (const text of ['', 'providers: { openai: {} }', entry]) {
      const provider = configOf(text, { OPENAI_API_KEY_FILE }).providers.find(({ id }) => id === 'openai');
      assert.ok(provider?.state === 'ready');
      assert.equal(provider.apiKeys[0]?.reveal(), 'sk-of-openai');
    }
  });

  test('may be named by its own reference, which is then the path', () => {
    assert.equal(configOf('data: "${DATA_FILE}"', { DATA_FILE: '/d' }).data, '/d');
  });
});

describe('a variable whose file cannot be used is refused', () => {
  const reasons: [about: string, path: () => string, reason: string][] = [
    ['as it is missing', () => join(folder, 'no such'), 'does not exist'],
    ['as it is a folder', () => folder, 'is not a regular file'],
    ['as it is empty', () => file('empty', '\n'), 'is empty'],
    ['as it is no text', () => file('binary', Buffer.from([0x61, 0xff])), 'is not text in UTF-8'],
    ['as it is too large', () => file('large', KEY.repeat(3000)), 'is larger than 64 KiB'],
    ['as it never ends', () => '/dev/zero', 'is not a regular file'],
    ['as it is below a file', () => join(file('parent', 'x'), 'child'), 'cannot be read (ENOTDIR)'],
  ];
  for (const [about, path, reason] of reasons) {
    test(about, () => {
      const CI_KEY_FILE = path();
      assert.deepEqual(faultsOf(`\n${keys}`, { CI_KEY_FILE }), [
        `2: keys[0].key: CI_KEY_FILE: ${CI_KEY_FILE} ${reason}`,
      ]);
    });
  }

  test('as nobody writes to the pipe that it is', { skip: process.platform === 'win32' }, () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    assert.match(faultsOf(keys, { CI_KEY_FILE: pipe })[0] ?? '', /is not a regular file$/);
  });

  test('as the variable itself is set, too', () => {
    assert.deepEqual(faultsOf(keys, { CI_KEY: KEY, CI_KEY_FILE: file('both', KEY) }), [
      '1: keys[0].key: CI_KEY and CI_KEY_FILE are both set; set only one of them',
    ]);
  });

  test('also where a default or a provider could wait for it', () => {
    const missing = join(folder, 'missing');
    mkdirSync(join(folder, 'unused'));
    assert.deepEqual(faultsOf('server: { port: "${PORT:-9}" }', { PORT_FILE: missing }), [
      `1: server.port: PORT_FILE: ${missing} does not exist`,
    ]);
    const provider = 'providers: { openai: { api_key: "${OPENAI_API_KEY}" } }';
    const fault = `1: providers.openai.api_key: OPENAI_API_KEY_FILE: ${missing} does not exist`;
    for (const text of [provider, '']) assert.deepEqual(faultsOf(text, { OPENAI_API_KEY_FILE: missing }), [fault]);
    const disabled = 'providers: { openai: { enabled: false, api_key: "${OPENAI_API_KEY}" } }';
    assert.ok(configOf(disabled, { OPENAI_API_KEY_FILE: missing }));
  });
});
