/** `polygate tail`: requests as they end, beside running gateways, on both engines. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { post } from '../gateway/harness.ts';
import { ask, ENGINES, KEY, startGateways } from './two-gateways.ts';

async function askWithFailedTool(url: string): Promise<void> {
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
}

for (const engine of ENGINES) {
  test(`prints what was before, then what ends, and stops when it is told to (${engine})`, async (context) => {
    const { run, start, gateways } = await startGateways(context, engine);
    const count = gateways.length;
    for (const { url } of gateways) await ask(url);
    const following = start(['tail', '--key', 'ci']);
    const line = / {2}ci {2}sandbox\/echo {2}completed {2}\d+\/\d+ {2}\$\S+ {2}\d+ ms {2}req_\w{32}\n/;
    await following.shows(new RegExp(`(?:${line.source}.*){${count}}`), 'stdout');
    for (const { url } of gateways) await askWithFailedTool(url);
    await following.shows(new RegExp(`(?: {2}1 tool failed {2}req_\\w{32}\\n[^]*){${count}}`), 'stdout');
    following.signal('SIGINT');
    const { code, stdout } = await following.ended;
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((text) => text.split('  ').at(-1));
    assert.deepEqual([code, ids.length, new Set(ids).size], [0, 2 * count, 2 * count]);

    const { stdout: json } = await run(['tail', '--once', '--json', '--limit', '1']);
    const { key, model, status, cost, tool_failures: failed } = JSON.parse(json);
    assert.deepEqual([key, model, status, typeof cost, failed], ['ci', 'sandbox/echo', 'completed', 'string', 1]);
    assert.equal((await run(['tail', '--once', '--failed'])).stdout, '');
    assert.match((await run(['tail', '--key', 'nobody'])).stderr, /no key with the id or name "nobody"/);
  });
}
