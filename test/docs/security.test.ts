/** SECURITY.md points at tests that are there, and its settings do what it says. */

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { program } from '../cli/program.ts';
import { sourceWith } from '../config/sources.ts';
import { codeIn, textOf } from './markdown.ts';

const KEY = 'the-key-of-a-stranger-0123';

test('every test that SECURITY.md names is there', () => {
  const named = [...textOf('SECURITY.md').matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path);
  assert.ok(named.length > 10);
  for (const path of named) assert.ok(existsSync(join(import.meta.dirname, '../..', path)), path);
});

test('a stranger with the settings of SECURITY.md reaches one model on one protocol, within limits', async (context) => {
  const [settings = assert.fail()] = codeIn('SECURITY.md', 'yaml');
  const { folder, start } = program(context);
  writeFileSync(join(folder, 'polygate.yaml'), settings);
  const gateway = start(['serve', '--port', '0'], { STRANGER_KEY: KEY, OPENAI_API_KEY: 'none' });
  await gateway.shows(/Ctrl-C stops it/);
  const [, port] = await gateway.shows(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const url = `http://127.0.0.1:${port}`;
  const ask = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.status;
  };
  const messages = [{ role: 'user', content: 'Hello' }];
  for (const model of ['openai/gpt-5', 'sandbox/echo', 'openai/gpt-5-mini-2025-08-07']) {
    const status = await ask('/v1/chat/completions', { model, messages });
    assert.ok([403, 404].includes(status), `${model}: ${status}`);
  }
  assert.equal(await ask('/anthropic/v1/messages', { model: 'openai/gpt-5-mini', max_tokens: 5, messages }), 403);
  assert.equal(await ask('/v1/videos', { model: 'openai/sora-2', prompt: 'a cat' }), 403);
  const shown = await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${KEY}` } });
  const text = await shown.text();
  assert.match(text, /"day":"1\.00","total":"20\.00"/);
  const { allotments } = parseConfig(settings, sourceWith({ STRANGER_KEY: KEY, OPENAI_API_KEY: 'none' }));
  assert.deepEqual(allotments.keyDefaults.limits, {
    requestsPerMinute: 60,
    tokensPerMinute: 100_000,
    concurrentRequests: 5,
  });
});
