/** Starts a gateway whose event loop and memory are measured, before upstreams of all protocols that answer at once. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WIRES } from '../faults/wires.ts';

export type Order = 'reset' | 'read';

export interface Started {
  url: string;
  adminUrl: string;
}

export interface Measured {
  /** The longest time for which the event loop did nothing else, in milliseconds of CPU on the machine of reference. */
  holdMs: number;
  /** How much the memory in use grew at most. */
  bytes: number;
}

export interface MeasuredGateway extends Started {
  /** What `run` costs: the least of some tries, as noise only adds to it. */
  measure(run: () => Promise<void>, enough?: (measured: Measured) => boolean): Promise<Measured>;
  close(): Promise<void>;
}

/** Providers `a` (chat), `b` (messages), `c` (generate) and two dialects of chat with a model `m` each, besides the sandbox. */
export async function startMeasuredGateway(yaml = ''): Promise<MeasuredGateway> {
  const upstream = createServer((request, response) => {
    const path = (request.url ?? '').toLowerCase();
    const protocol = (['messages', 'generate'] as const).find((name) => path.includes(name)) ?? 'chat';
    request.resume().on('end', () => {
      const counts = path.includes('count');
      const body = counts ? { input_tokens: 1, totalTokens: 1 } : WIRES[protocol].whole;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const config = `
providers:
  sandbox: { type: sandbox }
  a: { type: openai-compatible, base_url: "${address}/v1", models: [{ id: m }] }
  mistral: { type: mistral, base_url: "${address}/v1", api_key: k, models: [{ id: m }] }
  perplexity: { type: perplexity, base_url: "${address}", api_key: k, models: [{ id: m }] }
  b: { type: anthropic, base_url: "${address}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${address}", api_key: k, models: [{ id: m }] }
${yaml}`;
  const child = fork(new URL('loop-gateway.ts', import.meta.url), [config], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  const [started] = (await once(child, 'message')) as [Started];
  return {
    ...started,
    async measure(run, enough = () => false) {
      let least: Measured | undefined;
      for (let tries = 0; tries < TRIES; tries++) {
        await order(child, 'reset');
        await run();
        const measured = await order(child, 'read');
        least = {
          holdMs: Math.min(measured.holdMs, least?.holdMs ?? Number.POSITIVE_INFINITY),
          bytes: Math.min(measured.bytes, least?.bytes ?? Number.POSITIVE_INFINITY),
        };
        if (enough(least)) break;
      }
      return least as Measured;
    },
    async close() {
      child.disconnect();
      await once(child, 'exit');
      upstream.close();
      upstream.closeAllConnections();
    },
  };
}

const TRIES = 5;

async function order(child: ChildProcess, order: Order): Promise<Measured> {
  const answer = once(child, 'message');
  child.send(order);
  return (await answer)[0] as Measured;
}
