/** Tunnel through an HTTP proxy (`CONNECT`, RFC 9110, section 9.3.6). Loaded with the first one. */

import type { Socket } from 'node:net';
import type { HttpProxy } from './http-proxy.ts';
import { ownJoined } from './own-bytes.ts';

const HEAD_END = '\r\n\r\n';
const MAX_HEAD_BYTES = 16 * 1024;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: |\r|$)/;

/**
 * Asks a proxy for a tunnel over a connection to it, which then leads to the host; `hostname` without brackets. Rejects if the
 * proxy refuses, closes the connection, or says more than its answer: in a tunnel the first word is that of the client.
 */
export async function openTunnel(
  socket: Socket,
  { hostname, port }: { hostname: string; port: number },
  { url }: HttpProxy,
): Promise<void> {
  const host = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
  socket.write(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n${authorization(new URL(url.reveal()))}\r\n`, 'latin1');
  const [, status] = STATUS_LINE.exec(await answerOf(socket)) ?? [];
  if (status === undefined) throw new Error('the proxy does not speak HTTP');
  if (!status.startsWith('2')) throw new Error(`the proxy refused the connection with status ${status}`);
}

function authorization({ username, password }: URL): string {
  if (username === '' && password === '') return '';
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return `proxy-authorization: Basic ${credentials.toString('base64')}\r\n`;
}

/** The head of the answer. */
function answerOf(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    function settle(): void {
      socket.off('readable', read).off('end', close).off('close', close);
    }
    function fail(problem: string): void {
      settle();
      reject(new Error(`the proxy ${problem}`));
    }
    function close(): void {
      fail('closed the connection');
    }
    function read(): void {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) bytes = ownJoined(bytes, chunk);
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) {
        if (bytes.length > MAX_HEAD_BYTES) fail('sent an answer larger than 16 KiB');
      } else if (end + HEAD_END.length < bytes.length) fail('sent more than its answer');
      else {
        settle();
        resolve(bytes.toString('latin1', 0, end));
      }
    }
    socket.on('readable', read).once('end', close).once('close', close);
  });
}
