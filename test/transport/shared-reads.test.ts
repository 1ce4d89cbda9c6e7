/** Connections to upstreams that read into one buffer: each answer is whole and its own. */

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createUpstreamClient, type UpstreamExchange } from '../../src/transport/upstream-client.ts';
import { startHttps, testCa } from '../net/servers.ts';

const DEADLINES = { connect: 5000, firstByte: 5000, idle: 5000, total: 20_000 };
/** Several reads, and not a multiple of the buffer. */
const ANSWER_BYTES = 3_000_001;
const ANSWERS = 8;

setDefaultCACertificates([...getCACertificates('default'), testCa]);

/** Answers in pieces of odd sizes, which arrive between those of others. */
function answer(request: { url?: string }, response: { write(piece: Buffer): boolean; end(): void }): void {
  const bytes = contentOf(Number(request.url?.slice(1)));
  let position = 0;
  const send = () => {
    const size = 1 + ((position * 7) % 50_000);
    response.write(bytes.subarray(position, position + size));
    position += size;
    if (position < bytes.length) setImmediate(send);
    else response.end();
  };
  send();
}

function contentOf(seed: number): Buffer {
  const bytes = Buffer.alloc(ANSWER_BYTES);
  for (let index = 0; index < bytes.length; index++) bytes[index] = (index * (seed + 3)) % 251;
  return bytes;
}

async function startHttp(): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer(answer);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((done) => server.close(() => done()).closeAllConnections()),
  };
}

describe('answers that arrive at the same time', () => {
  for (const [scheme, start] of [
    ['http', startHttp],
    ['https', () => startHttps(answer)],
  ] as const) {
    test(`over ${scheme}, with pauses`, async () => {
      const server = await start();
      const client = createUpstreamClient(DEADLINES);
      const host = scheme === 'https' ? 'localhost' : '127.0.0.1';
      const receive = (seed: number) =>
        new Promise<Buffer>((resolve, reject) => {
          const chunks: Buffer[] = [];
          let exchange: UpstreamExchange | undefined;
          exchange = client.send(
            { method: 'GET', url: `${scheme}://${host}:${server.port}/${seed}`, headers: {}, body: undefined },
            {
              head: (status) => assert.equal(status, 200),
              data(chunk) {
                chunks.push(Buffer.from(chunk));
                if (chunks.length % 5 !== 0) return;
                exchange?.pause();
                setTimeout(() => exchange?.resume(), 1);
              },
              end: () => resolve(Buffer.concat(chunks)),
              fail: reject,
            },
          );
        });
      try {
        // Twice: the second time over connections that were kept.
        for (const round of [0, ANSWERS]) {
          const seeds = Array.from({ length: ANSWERS }, (_, index) => round + index);
          const answers = await Promise.all(seeds.map(receive));
          for (const [index, bytes] of answers.entries()) assert.ok(bytes.equals(contentOf(round + index)));
        }
      } finally {
        await client.close();
        await server.close();
      }
    });
  }
});
