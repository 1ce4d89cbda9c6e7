/**
 * Benchmark `npm run bench`: the same load against the upstream alone and through the gateway, interleaved, so that the ratio
 * holds on a noisy machine. Uses loopback only and takes about a minute.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { Agent, request } from 'undici';

const SECONDS = 2;
const ROUNDS = 3;
const CONNECTIONS = 8;

interface Load {
  name: string;
  url: string;
  body: object;
  headers: Record<string, string>;
}

function start(file: string, ...args: string[]): Promise<{ port: number; process: ChildProcess }> {
  const child = fork(join(import.meta.dirname, file), args);
  return new Promise((resolve) => child.once('message', (port) => resolve({ port: Number(port), process: child })));
}

/** Requests per second and the median time of one, in microseconds. */
async function measure({ url, body, headers }: Load): Promise<{ rate: number; median: number }> {
  const agent = new Agent({ connections: CONNECTIONS });
  const text = JSON.stringify(body);
  const times: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  async function client(): Promise<void> {
    while (performance.now() < end) {
      const begun = performance.now();
      const answer = await request(url, { method: 'POST', headers, body: text, dispatcher: agent });
      const bytes = await answer.body.arrayBuffer();
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${Buffer.from(bytes)}`);
      times.push(performance.now() - begun);
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  await agent.close();
  times.sort((one, other) => one - other);
  return { rate: times.length / SECONDS, median: (times[times.length >> 1] ?? 0) * 1000 };
}

const upstream = await start('upstream.ts');
const gateway = await start('gateway.ts', String(upstream.port));
const direct = `http://127.0.0.1:${upstream.port}`;
const through = `http://127.0.0.1:${gateway.port}`;
const json = { 'content-type': 'application/json' };
const question = 'What is the capital of France? '.repeat(20);

const chat = (stream: boolean, model: string) => ({
  model,
  messages: [{ role: 'user', content: question }],
  ...(stream && { stream: true }),
});
const messages = (stream: boolean) => ({ ...chat(stream, 'up/m'), max_tokens: 100 });
const generate = { contents: [{ role: 'user', parts: [{ text: question }] }] };
const bearer = { ...json, authorization: 'Bearer sk-bench-0123456789' };
const version = { ...bearer, 'anthropic-version': '2023-06-01' };

const loads: Record<'whole' | 'stream', Load[]> = {
  whole: [
    { name: 'upstream alone', url: `${direct}/v1/chat/completions`, headers: json, body: chat(false, 'm') },
    {
      name: 'chat to chat (passthrough)',
      url: `${through}/v1/chat/completions`,
      headers: bearer,
      body: chat(false, 'up/m'),
    },
    {
      name: 'messages to chat (translated)',
      url: `${through}/anthropic/v1/messages`,
      headers: version,
      body: messages(false),
    },
    {
      name: 'generate to chat (translated)',
      url: `${through}/gemini/v1beta/models/up/m:generateContent`,
      headers: bearer,
      body: generate,
    },
  ],
  stream: [
    { name: 'upstream alone', url: `${direct}/v1/chat/completions`, headers: json, body: chat(true, 'm') },
    {
      name: 'chat to chat (passthrough)',
      url: `${through}/v1/chat/completions`,
      headers: bearer,
      body: chat(true, 'up/m'),
    },
    {
      name: 'messages to chat (translated)',
      url: `${through}/anthropic/v1/messages`,
      headers: version,
      body: messages(true),
    },
    {
      name: 'generate to chat (translated)',
      url: `${through}/gemini/v1beta/models/up/m:streamGenerateContent?alt=sse`,
      headers: bearer,
      body: generate,
    },
  ],
};

try {
  for (const [kind, list] of Object.entries(loads)) {
    const results = new Map(list.map(({ name }) => [name, { rate: 0, median: Number.POSITIVE_INFINITY }]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const load of list) {
        process.stderr.write(`\r${kind} ${round + 1}/${ROUNDS} ${load.name}`.padEnd(60));
        const { rate, median } = await measure(load);
        const best = results.get(load.name);
        if (best) Object.assign(best, { rate: Math.max(best.rate, rate), median: Math.min(best.median, median) });
      }
    }
    const alone = results.get('upstream alone')?.rate ?? 1;
    const unit = kind === 'stream' ? 'streams of 103 frames' : 'requests';
    process.stdout.write(`\n\n${`${unit}/s, ${CONNECTIONS} connections`.padEnd(44)}   rate   median   of alone\n`);
    for (const [name, { rate, median }] of results) {
      const cells = [
        rate.toFixed(0).padStart(7),
        `${median.toFixed(0)} us`.padStart(9),
        `${((rate / alone) * 100).toFixed(0)} %`.padStart(8),
      ];
      process.stdout.write(`${name.padEnd(42)}${cells.join('  ')}\n`);
    }
  }
} finally {
  gateway.process.kill();
  upstream.process.kill();
}
