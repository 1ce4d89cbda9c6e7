/** The gateway with two workers, as a program, and a client whose requests have connections of their own. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { answerJson, question, startUpstream } from '../gateway/harness.ts';
import { program, type Running } from './program.ts';

export const KEY = 'sk-test-plain-0123456789';
export const RICH = 'sk-test-rich-0123456789';
export const BUSY = 'sk-test-busy-0123456789';
/** Keys with 30 requests a minute, one for each try. */
export const OFTEN = ['sk-test-often-a-0123456789', 'sk-test-often-b-0123456789'] as const;
export const TOKEN = 'the-token-of-the-operator-0123456789';
export const BUDGET = 1;
/** Requests that {@link Stage.hold} sends. */
export const HELD = 16;

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Json;
}

export interface Stage {
  url: string;
  folder: string;
  gateway: Running;
  /** Process ids of the workers at the start. */
  pids: [number, number];
  /** Requests to the model `held` that the upstream has and has not answered. */
  held: ServerResponse[];
  /** Requests to the model `limited`, which were answered with 429. */
  limited: ServerResponse[];
  /** Each request has a connection of its own, which any worker accepts. */
  ask(path: string, options?: { key?: string; body?: object; method?: string }): Promise<Answer>;
  /** Asks again while the gateway is not ready. */
  chat(key?: string, model?: string): Promise<Answer>;
  /** {@link HELD} requests to the model `held`, half of them on each worker. Resolves when the upstream has them all. */
  hold(): Promise<Promise<Answer>[]>;
  configure(more: string): void;
  restart(): Promise<Pick<Stage, 'gateway' | 'url' | 'pids'>>;
}

/** Two workers in front of an upstream whose answer has five tokens of a cent each. */
export async function startTwoWorkers(
  context: TestContext,
  more = '',
  { server = '' }: { server?: string } = {},
): Promise<Stage> {
  const held: ServerResponse[] = [];
  const limited: ServerResponse[] = [];
  const upstream = await startUpstream((call, response) => {
    if (call.body.model === 'held') held.push(response);
    else if (call.body.model === 'limited') limited.push(response.writeHead(429, { 'retry-after': '60' }).end('{}'));
    else answer(response);
  });
  context.after(() => upstream.close());
  const { folder, start: run } = program(context);
  const prices = 'pricing: { prompt: "0.01", completion: "0.01" }';
  const configure = (rest: string) =>
    writeFileSync(
      join(folder, 'polygate.yaml'),
      `
server: { port: 0, workers: 2, ${server} }
admin: { token: ${TOKEN}, port: 0 }
keys:
  - { name: plain, key: ${KEY} }
  - { name: rich, key: ${RICH}, budgets: { total: "${BUDGET}.00" } }
  - { name: busy, key: ${BUSY}, limits: { concurrent_requests: 3 } }
${OFTEN.map((key, index) => `  - { name: often-${index}, key: ${key}, limits: { requests_per_minute: 30 } }`).join('\n')}
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, ${prices} }, { id: held, ${prices} }, { id: limited, ${prices} }] }
${rest}`,
    );
  configure(more);
  async function serve(): Promise<Pick<Stage, 'gateway' | 'url' | 'pids'>> {
    const gateway = run(['serve']);
    const [banner] = await gateway.shows(/[\s\S]*Ctrl-C stops it/);
    const [, url = ''] = /listens on (http:\/\/\S+)/.exec(banner) ?? [];
    const [, one, two] = /has 2 workers: processes (\d+), (\d+)/.exec(banner) ?? [];
    return { gateway, url, pids: [Number(one), Number(two)] };
  }
  const first = await serve();
  const { url } = first;
  const ask: Stage['ask'] = (path, { key = KEY, body, method = body ? 'POST' : 'GET' } = {}) =>
    send(`${url}${path}`, { key, body, method });
  const chat: Stage['chat'] = async (key = KEY, model = 'm') => {
    const body = { ...question('chat', `a/${model}`, 'Hi'), max_tokens: 3 };
    for (;;) {
      const answered = await ask('/v1/chat/completions', { key, body });
      // While the disk of a busy machine takes more than a second for a write.
      if (answered.status !== 503) return answered;
    }
  };
  /** While one worker is stopped, the other accepts all connections. */
  async function hold(): Promise<Promise<Answer>[]> {
    const answers: Promise<Answer>[] = [];
    for (const paused of first.pids) {
      process.kill(paused, 'SIGSTOP');
      for (let count = 0; count < HELD / 2; count++) answers.push(chat(KEY, 'held'));
      await until(() => held.length === answers.length).finally(() => process.kill(paused, 'SIGCONT'));
    }
    return answers;
  }
  return { ...first, folder, held, limited, ask, chat, hold, configure, restart: serve };
}

export function answer(response: ServerResponse): void {
  const message = { role: 'assistant', content: 'Yes.' };
  const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage });
}

export function send(
  url: string,
  options: { key: string; body?: object | undefined; method: string },
): Promise<Answer> {
  const { key, body, method } = options;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (response) => {
      try {
        const answered = await text(response);
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        resolve({
          ...{ status: response.statusCode ?? 0, headers: response.headers },
          body: isJson ? JSON.parse(answered) : answered,
        });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}

export async function statuses(answers: Promise<Answer>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Longest wait for a condition, on a busy machine. */
const UNTIL_TIMEOUT_MS = 60_000;

export async function until(condition: () => unknown): Promise<void> {
  const deadline = performance.now() + UNTIL_TIMEOUT_MS;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'it did not happen in time');
    await pause(20);
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function metric(exposition: string, name: string): number {
  const values = exposition.split('\n').filter((line) => line.startsWith(name));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
