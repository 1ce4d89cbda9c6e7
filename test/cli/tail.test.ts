/** `polygate tail`: requests as they end, beside a running gateway. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { post } from '../gateway/harness.ts';
import { program } from './program.ts';

const KEY = 'sk-test-gateway-key-0123456789';

test('prints what was before, then what ends, and stops when it is told to', async (context) => {
  const { folder, run, start } = program(context);
  writeFileSync(join(folder, 'polygate.yaml'), `keys: [{ name: ci, key: ${KEY} }]\nserver: { port: 0 }\n`);
  const gateway = start(['serve']);
  const [, url = ''] = await gateway.shows(/listens on (http:\S+)/);
  const ask = async (model: string) => {
    const request = { model, messages: [{ role: 'user', content: 'hi' }] };
    await (await post(`${url}/v1/chat/completions`, request, { authorization: `Bearer ${KEY}` })).text();
  };
  const askWithFailedTool = async () => {
    const block = { type: 'tool_result', tool_use_id: 'a', content: 'x', is_error: true };
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'user', content: [block] },
    ];
    const request = { model: 'sandbox/echo', max_tokens: 9, messages };
    const headers = { authorization: `Bearer ${KEY}`, 'anthropic-version': '2023-06-01' };
    const response = await post(`${url}/anthropic/v1/messages`, request, headers);
    assert.equal(response.status, 200, await response.text());
  };
  await ask('sandbox/echo');
  const following = start(['tail', '--key', 'ci']);
  await following.shows(
    / {2}ci {2}sandbox\/echo {2}completed {2}\d+\/\d+ {2}\$\S+ {2}\d+ ms {2}req_\w{32}\n/,
    'stdout',
  );
  await askWithFailedTool();
  await following.shows(/(completed.*\n.*){2}/, 'stdout');
  await following.shows(/ {2}1 tool failed {2}req_\w{32}\n/, 'stdout');
  following.signal('SIGINT');
  const { code, stdout } = await following.ended;
  assert.deepEqual([code, stdout.trimEnd().split('\n').length], [0, 2]);

  const { stdout: json } = await run(['tail', '--once', '--json', '--limit', '1']);
  const { key, model, status, cost, tool_failures: failed } = JSON.parse(json);
  assert.deepEqual([key, model, status, typeof cost, failed], ['ci', 'sandbox/echo', 'completed', 'string', 1]);
  assert.equal((await run(['tail', '--once', '--failed'])).stdout, '');
  assert.match((await run(['tail', '--key', 'nobody'])).stderr, /no key with the id or name "nobody"/);
});
