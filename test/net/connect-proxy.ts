/** HTTP proxy for tests: opens tunnels to servers of this machine by a rule. */

import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { startPlain, startTls, type TestServer } from './servers.ts';

const HEAD_END = '\r\n\r\n';

/** Where a `CONNECT` leads: a port of this machine, or the bytes that it is answered with. */
export type Rule = (head: string, socket: Socket) => number | string | undefined;

export interface TestProxy {
  server: TestServer;
  /** Heads of the requests it got. */
  heads: string[];
}

/** A proxy that tunnels by a rule. */
export async function startProxy(context: TestContext, rule: Rule, isSecure = false): Promise<TestProxy> {
  const heads: string[] = [];
  const server = await (isSecure ? startTls : startPlain)((socket) => {
    let bytes = Buffer.alloc(0);
    socket.on('data', function read(chunk: Buffer) {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) return;
      socket.off('data', read);
      const head = bytes.toString('latin1', 0, end);
      heads.push(head);
      const target = rule(head, socket);
      if (typeof target === 'string') socket.write(target);
      else if (target !== undefined) tunnel(socket, target);
    });
  });
  context.after(() => server.close());
  return { server, heads };
}

function tunnel(socket: Socket, port: number): void {
  const inner = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\nproxy-agent: test\r\n\r\n');
    socket.pipe(inner).pipe(socket);
  });
  for (const end of [socket, inner]) end.on('error', () => {});
  socket.on('close', () => inner.destroy());
  inner.on('close', () => socket.destroy());
}

/** The rule that leads to the port that is asked for, whatever its host. */
export const portOf = (head: string) => Number(/^CONNECT [^ ]*:(\d+) HTTP\/1\.1\r\n/.exec(head)?.[1]);
