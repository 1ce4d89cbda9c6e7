/** HTTP/1.1 connection of the load generator: one request at a time, and answers that are only delimited and counted, not read. */

import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

export interface Target {
  port: number;
  /** Head and body of the request. */
  bytes: Buffer;
  /** An answer whose body is shorter is a failed one. */
  leastBytes?: number;
}

export interface LoadConnection {
  /** Calls back with the status and the size of the body when the whole answer is there; status 0 stands for a connection that broke. */
  send(bytes: Buffer, onAnswer: (status: number, bodyBytes: number) => void): void;
  close(): void;
}

export function requestBytes(
  path: string,
  { headers, body }: { headers: Record<string, string>; body: string | Buffer },
): Buffer {
  const content = Buffer.from(body);
  const lines = Object.entries({ host: '127.0.0.1', 'content-type': 'application/json', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${content.length}\r\n\r\n`),
    content,
  ]);
}

/** Opens at the first request, and again after the peer has closed it. */
export function openConnection(port: number): LoadConnection {
  let socket: Socket | undefined;
  let onAnswer: ((status: number, bodyBytes: number) => void) | undefined;
  let status = 0;
  /** Bytes of the head that have come so far. */
  let head: Buffer | undefined;
  /** Bytes of the body, or of the chunk with its line end, that are still to come; undefined before and after a head. */
  let remaining: number | undefined;
  let isChunked = false;
  /** The line of a chunk's size, where it is cut. */
  let line = '';
  let isLastChunk = false;
  /** Size of the body: by its length, or of the chunks so far. */
  let bodyBytes = 0;

  function finish(result: number): void {
    const callback = onAnswer;
    const size = bodyBytes;
    onAnswer = undefined;
    bodyBytes = 0;
    head = remaining = undefined;
    isChunked = isLastChunk = false;
    line = '';
    callback?.(result, size);
  }

  function onData(data: Buffer): void {
    let rest: Buffer = data;
    if (remaining === undefined && !isChunked) {
      const all = head === undefined ? rest : Buffer.concat([head, rest]);
      const end = all.indexOf(HEAD_END);
      if (end === -1) {
        head = all;
        return;
      }
      const text = all.toString('latin1', 0, end);
      status = Number(text.slice(9, 12));
      const length = /\r\ncontent-length: *(\d+)/i.exec(text);
      if (length) remaining = bodyBytes = Number(length[1]);
      else if (/\r\ntransfer-encoding: *chunked/i.test(text)) isChunked = true;
      else {
        finish(0);
        return;
      }
      rest = all.subarray(end + 4);
    }
    if (isChunked) {
      if (chunksEnd(rest)) finish(status);
      return;
    }
    remaining = (remaining ?? 0) - rest.length;
    if (remaining <= 0) finish(status);
  }

  /** Walks the chunks; true at the end of the last one. */
  function chunksEnd(data: Buffer): boolean {
    let at = 0;
    while (at < data.length) {
      if (remaining !== undefined && remaining > 0) {
        const step = Math.min(remaining, data.length - at);
        remaining -= step;
        at += step;
        if (remaining === 0 && isLastChunk) return true;
        continue;
      }
      const end = data.indexOf('\n', at);
      line += data.toString('latin1', at, end === -1 ? data.length : end);
      if (end === -1) return false;
      const size = Number.parseInt(line, 16);
      line = '';
      at = end + 1;
      isLastChunk = size === 0;
      bodyBytes += size;
      remaining = size + 2;
    }
    return false;
  }

  function opened(): Socket {
    const made = connect({ port, host: '127.0.0.1', noDelay: true });
    made.on('data', onData);
    made.on('error', () => undefined);
    made.on('close', () => {
      socket = undefined;
      finish(0);
    });
    return made;
  }

  return {
    send(bytes, callback) {
      onAnswer = callback;
      socket ??= opened();
      socket.write(bytes);
    },
    close() {
      onAnswer = undefined;
      socket?.destroy();
    },
  };
}
