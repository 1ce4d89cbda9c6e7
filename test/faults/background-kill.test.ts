/** A gateway is killed while it runs background responses: each of them ends, and none is sent to its model twice. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { type BackgroundClient, createBackgroundClient } from '../gateway/background-client.ts';
import { KEY } from '../gateway/harness.ts';
import { lastText, startResponsesUpstream } from '../gateway/responses-upstream.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const ROUNDS = 2;
/** Responses that are accepted in each round before the kill. */
const ROUND_RESPONSES = 40;
const OPEN = ['queued', 'in_progress'];

async function startProcess(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--config', join(folder, 'polygate.yaml')], {
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

/** Requests one after the other until the gateway is gone. */
async function submit(client: BackgroundClient, name: string, accepted: Map<string, string>): Promise<void> {
  for (let number = 0; ; number++) {
    const input = `${name} ${number}`;
    try {
      const { status, body } = await client.create({ model: 'plain/m', input, store: true });
      if (status === 429) await pause(5);
      else {
        assert.equal(status, 200, JSON.stringify(body));
        accepted.set(body.id, input);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}

forEachStore((engine) => {
  test(`what was accepted ends, and is sent once (${engine}) (checklist 113)`, {
    timeout: 240_000,
  }, async (context) => {
    const upstream = await startResponsesUpstream({ keeps: false, prefix: 'b' });
    upstream.beforeEnd = () => pause(Math.random() * 60);
    context.after(upstream.close);
    const folder = mkdtempSync(join(tmpdir(), 'polygate-background-'));
    context.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    const database = engine === 'postgres' ? await providePostgres() : undefined;
    if (database) context.after(database.close);
    const data = database ? database.url : join(folder, 'data');
    writeFileSync(
      join(folder, 'polygate.yaml'),
      `data: ${data}
encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
keys: [{ name: test, key: ${KEY} }]
responses: { max_background: 30 }
providers:
  plain: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`,
    );
    const accepted = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round++) {
      const running = await startProcess(folder);
      const client = createBackgroundClient(() => running.url);
      const clients = ['a', 'b', 'c'].map((name) => submit(client, `${round}-${name}`, accepted));
      const enough = accepted.size + ROUND_RESPONSES + round;
      while (accepted.size < enough) await pause(1);
      const exited = once(running.child, 'exit');
      running.child.kill('SIGKILL');
      await exited;
      await Promise.all(clients);
    }

    const { child, url } = await startProcess(folder);
    context.after(() => child.kill('SIGKILL'));
    const client = createBackgroundClient(() => url);
    const outcomes: Record<string, number> = {};
    async function ended(id: string): Promise<Json> {
      for (;;) {
        const { status, body } = await client.request('GET', id);
        if (status !== 429) assert.equal(status, 200, JSON.stringify(body));
        if (status === 200 && !OPEN.includes(body.status)) return body;
        await pause(100);
      }
    }
    for (const [id, input] of accepted) {
      const { status, output, error } = await ended(id);
      outcomes[status] = (outcomes[status] ?? 0) + 1;
      if (status === 'completed') assert.equal(output[0].content[0].text, `You said: ${input}`);
      else assert.deepEqual([status, error.code], ['failed', 'server_error'], JSON.stringify(error));
    }
    assert.ok((outcomes.completed ?? 0) > 0 && (outcomes.failed ?? 0) > 0, JSON.stringify(outcomes));
    const sent = upstream.calls.map(({ body }) => lastText(body.input));
    assert.equal(new Set(sent).size, sent.length);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
});
