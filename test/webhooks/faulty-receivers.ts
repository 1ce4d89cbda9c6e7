/** Receivers that do everything wrong, and what an attempt at each comes to. */

import { gzipSync } from 'node:zlib';
import { startPlain, startTls, type TestServer } from '../net/servers.ts';

const HEAD = 'HTTP/1.1 200 OK\r\n';

export interface Fault {
  name: string;
  start(timers: Set<NodeJS.Timeout>): Promise<TestServer>;
  outcome: string;
  /** How long it takes: until the attempt ends, or the connection has to stand; at once if absent. */
  takes?: 'whole' | 'half';
  /** Host of the address instead of the one in the certificate. */
  host?: string;
}

const often = (timers: Set<NodeJS.Timeout>, work: () => void) => timers.add(setInterval(work, 10));
const tls = (listener: Parameters<typeof startTls>[0]) => () => startTls(listener);
/** Sends as much as is read of it, once the request is there. */
const flooding = (start: string, piece: string) =>
  tls((socket) =>
    socket.once('data', () => {
      socket.write(start);
      const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
      const flood = () => {
        while (!socket.destroyed && socket.write(bytes));
      };
      socket.on('drain', flood);
      flood();
    }),
  );
/** Speaks once the request is there. */
const speaking = (bytes: string | Buffer) => tls((socket) => socket.once('data', () => socket.end(bytes)));

export const FAULTS: readonly Fault[] = [
  { name: 'silence', start: tls(() => {}), outcome: 'timeout', takes: 'whole' },
  { name: 'no TLS', start: () => startPlain(() => {}), outcome: 'tls', takes: 'half' },
  { name: 'plain text instead of TLS', start: () => startPlain((socket) => socket.end(`${HEAD}\r\n`)), outcome: 'tls' },
  { name: 'TLS 1.0', start: () => startTls(() => {}, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }), outcome: 'tls' },
  { name: 'a certificate for another name', start: tls(() => {}), outcome: 'tls', host: 'other.example.com' },
  {
    name: 'headers byte by byte',
    start: (timers) =>
      startTls((socket) => {
        let sent = 0;
        often(timers, () => socket.write(`${HEAD}x: ${'y'.repeat(10_000)}`.charAt(sent++)));
      }),
    outcome: 'timeout',
    takes: 'whole',
  },
  {
    name: 'early hints without end',
    start: (timers) => startTls((socket) => often(timers, () => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'))),
    outcome: 'timeout',
    takes: 'whole',
  },
  { name: 'a flood of early hints', start: flooding('', 'HTTP/1.1 103 Early Hints\r\n\r\n'), outcome: 'protocol' },
  { name: 'a flood of empty lines', start: flooding('', '\r\n'), outcome: 'protocol' },
  { name: 'a flood of a reason', start: flooding('HTTP/1.1 200 ', 'O'), outcome: 'protocol' },
  {
    name: 'a flood of trailers',
    start: flooding(`${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n`, 'x: y\r\n'),
    outcome: 'ack',
  },
  { name: 'HTTP/1.0', start: speaking('HTTP/1.0 200 OK\r\n\r\nyes'), outcome: 'ack' },
  { name: 'a garbled chunk', start: speaking(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), outcome: 'ack' },
  {
    name: 'a reset before the status',
    start: tls((socket) => socket.once('data', () => socket.destroy())),
    outcome: 'connect',
  },
  { name: 'an end amid the headers', start: speaking(`${HEAD}x: `), outcome: 'connect' },
  { name: 'an empty reply', start: speaking(''), outcome: 'connect' },
  { name: 'an SSH banner', start: speaking('SSH-2.0-OpenSSH_9.6\r\n'), outcome: 'protocol' },
  { name: 'HTTP/0.9', start: speaking('<html></html>'), outcome: 'protocol' },
  { name: 'an HTTP/2 preface', start: speaking(Buffer.from('000012040000000000', 'hex')), outcome: 'protocol' },
  {
    name: 'both lengths',
    start: speaking(`${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    outcome: 'protocol',
  },
  { name: 'headers of 1 MB', start: speaking(`${HEAD}x: ${'y'.repeat(1_000_000)}\r\n\r\n`), outcome: 'protocol' },
  {
    name: 'five thousand encodings',
    start: speaking(`${HEAD}Content-Encoding: ${'gzip, '.repeat(5000)}gzip\r\n\r\n`),
    outcome: 'protocol',
  },
  { name: 'a reset after the status', start: speaking(`${HEAD}Content-Length: 100\r\n\r\nx`), outcome: 'ack' },
  {
    name: 'a dripping body',
    start: (timers) =>
      startTls((socket) =>
        socket.once('data', () => {
          socket.write(`${HEAD}\r\n`);
          often(timers, () => socket.write('x'));
        }),
      ),
    outcome: 'ack',
  },
  {
    name: 'a body without end',
    start: (timers) =>
      startTls((socket) =>
        socket.once('data', () => {
          socket.write(`${HEAD}\r\n`);
          often(timers, () => socket.writableNeedDrain || socket.write(Buffer.alloc(1_000_000)));
        }),
      ),
    outcome: 'ack',
  },
  {
    name: 'a gzip bomb',
    start: speaking(
      Buffer.concat([Buffer.from(`${HEAD}Content-Encoding: gzip\r\n\r\n`), gzipSync(Buffer.alloc(50_000_000))]),
    ),
    outcome: 'ack',
  },
];
