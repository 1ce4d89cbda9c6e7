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
  const { head, isFollowed } = await answerOf(socket);
  const [, status] = STATUS_LINE.exec(head) ?? [];
  if (status === undefined) throw new Error('the proxy does not speak HTTP');
  if (!status.startsWith('2')) throw new Error(`the proxy refused the connection with status ${status}`);
  if (isFollowed) throw new Error('the proxy sent more than its answer');
}

function authorization({ username, password }: URL): string {
  if (username === '' && password === '') return '';
  const credentials = Buffer.from(`${decoded(username)}:${decoded(password)}`);
  return `proxy-authorization: Basic ${credentials.toString('base64')}\r\n`;
}

/** A text with a percent sign that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The head of the answer, and whether bytes follow it. */
function answerOf(socket: Socket): Promise<{ head: string; isFollowed: boolean }> {
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
      } else {
        settle();
        resolve({ head: bytes.toString('latin1', 0, end), isFollowed: end + HEAD_END.length < bytes.length });
      }
    }
    socket.on('readable', read).once('end', close).once('close', close);
  });
}
