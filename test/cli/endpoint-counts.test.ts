/** Counts of endpoints over a restart of the program on SQLite. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { post, question } from '../gateway/harness.ts';
import { program } from './program.ts';

const KEY = 'sk-test-gateway-key-0123456789';
const TOKEN = 'the-token-of-the-operator-0123456789';

test('what an endpoint answered before a restart is counted after it', async (context) => {
  const { folder, start } = program(context);
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `server: { port: 0 }\nadmin: { token: ${TOKEN}, port: 0 }\nkeys: [{ name: ci, key: ${KEY} }]\nproviders: { sandbox: {} }\n`,
  );
  const run = async (requests: number): Promise<Json[]> => {
    const gateway = start(['serve']);
    const [, admin = ''] = await gateway.shows(/admin API listens on (http:\/\/\S+)/);
    const [, url = ''] = await gateway.shows(/listens on (\S+)[\s\S]*Ctrl-C/);
    for (let index = 0; index < requests; index++) {
      const response = await post(`${url}/v1/chat/completions`, question('chat', 'sandbox/echo', 'Hi'), {
        authorization: `Bearer ${KEY}`,
      });
      assert.equal(response.status, 200);
      await response.arrayBuffer();
    }
    const response = await fetch(`${admin}/admin/v1/health/endpoints`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { data }: Json = await response.json();
    gateway.signal('SIGTERM');
    assert.equal((await gateway.ended).code, 0);
    return data;
  };
  await run(3);
  const [endpoint, ...others] = await run(0);
  assert.deepEqual([endpoint.endpoint, others.length], ['sandbox/echo', 0]);
  assert.deepEqual(endpoint.history.last_day, { attempts: 3, failed: 0 });
});
