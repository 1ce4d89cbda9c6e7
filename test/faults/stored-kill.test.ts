/** A gateway is killed while it stores responses: what a client saw to its end is there, and nothing is there by half. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, KEY, post } from '../gateway/harness.ts';
import { startResponsesUpstream } from '../gateway/responses-upstream.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const ROUNDS = 3;
const CLIENTS = 6;
/** Responses of each round before the kill. */
const ROUND_RESPONSES = 25;

interface Running {
  child: ChildProcess;
  url: string;
}

async function startProcess(folder: string, config: string): Promise<Running> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--config', config], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  return new Promise((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const url = /listens on (http:\S+)/.exec(text)?.[1];
      if (url) resolve({ child, url });
    });
    child.on('exit', (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
}

/** Turns of one conversation until the gateway is gone; collects the ids of which the last event came. */
async function converse(url: string, name: string, promised: string[]): Promise<void> {
  const ids: string[] = [];
  for (let turn = 0; ; turn++) {
    const previous = ids.at(-1);
    const body = {
      ...{ model: 'plain/m', input: `${name} says ${turn}: ${'x'.repeat(turn % 5 === 0 ? 9000 : 50)}` },
      ...{ stream: turn % 3 !== 0, ...(previous && { previous_response_id: previous }) },
    };
    try {
      const response = await post(`${url}/v1/responses`, body, HEADERS.chat);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      const id = body.stream
        ? /event: response\.completed\ndata: .*?"response":\{"id":"([^"]+)"/.exec(text)?.[1]
        : JSON.parse(text).id;
      if (id === undefined) return;
      ids.push(id);
      promised.push(id);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}

forEachStore((engine) => {
  test(`what was promised outlives kills (${engine})`, { timeout: 240_000 }, async (context) => {
    const upstream = await startResponsesUpstream({ keeps: false, prefix: 'r' });
    context.after(upstream.close);
    const folder = mkdtempSync(join(tmpdir(), 'polygate-stored-'));
    context.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    const database = engine === 'postgres' ? await providePostgres() : undefined;
    if (database) context.after(database.close);
    const config = join(folder, 'polygate.yaml');
    writeFileSync(
      config,
      `data: ${database?.url ?? `${folder}/data`}
keys: [{ name: test, key: ${KEY} }]
providers:
  plain: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`,
    );
    const promised: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const running = await startProcess(folder, config);
      const clients = Array.from({ length: CLIENTS }, (_, index) =>
        converse(running.url, `${round}-${index}`, promised),
      );
      const enough = promised.length + ROUND_RESPONSES + round * 7;
      while (promised.length < enough) await pause(1);
      const exited = once(running.child, 'exit');
      running.child.kill('SIGKILL');
      await exited;
      await Promise.all(clients);
    }

    const { child, url } = await startProcess(folder, config);
    context.after(() => child.kill('SIGKILL'));
    const get = async (path: string): Promise<Json> => {
      const response = await fetch(`${url}/v1/responses/${path}`, { headers: HEADERS.chat });
      if (response.status === 429) return pause(100).then(() => get(path));
      return { status: response.status, body: await response.json() };
    };
    for (const id of promised) {
      const { status, body } = await get(id);
      assert.deepEqual([status, body.id, body.status], [200, id, 'completed']);
      assert.equal(body.output.length, 1);
    }
    for (const id of promised.slice(-20)) {
      const items = await get(`${id}/input_items?order=asc&limit=100`);
      assert.equal(items.status, 200, JSON.stringify(items.body));
      assert.equal(items.body.data.length % 2, 1);
    }
    // Every response of the upstream is stored as a whole, or not at all.
    let found = 0;
    for (let number = 1; number <= upstream.count; number++) {
      const { status, body } = await get(`resp_r${number}`);
      if (status === 404) continue;
      found += 1;
      assert.deepEqual([status, body.status, body.output.length], [200, 'completed', 1]);
    }
    assert.ok(found >= promised.length);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
});
