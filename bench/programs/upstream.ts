/**
 * Upstream on raw sockets: responds when it has read the whole request. A path with `/frames/` gets a stream of its protocol with a frame
 * each 10 ms, one with `/slow/` a frame each 1.5 s, any other a whole answer.
 */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { CHAT_ANSWER, CHAT_FRAMES, MESSAGES_ANSWER, RESPONSES_FRAMES } from './answers.ts';

const FRAME_INTERVAL_MS = 10;
const SLOW_INTERVAL_MS = 1500;
/** A slow stream goes on until its client leaves. */
const SLOW_FRAMES = 10_000;

const whole = (body: string) =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const CHAT = whole(CHAT_ANSWER);
const MESSAGES = whole(MESSAGES_ANSWER);
const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const chunksOf = (frames: readonly string[]) => frames.map((frame) => Buffer.from(chunked(frame), 'latin1'));
const FRAMES = chunksOf(CHAT_FRAMES);
const RESPONSES = chunksOf(RESPONSES_FRAMES);
const LAST_CHUNK = '0\r\n\r\n';

const server = createServer({ noDelay: true }, (socket) => {
  /** Bytes of the request that are still to come. */
  let remaining = 0;
  let path = '';
  let head = '';
  socket.on('error', () => socket.destroy());
  socket.on('data', (data) => {
    let length = data.length;
    if (remaining === 0) {
      const end = data.indexOf('\r\n\r\n');
      if (end === -1) {
        head += data.toString('latin1');
        return;
      }
      head += data.toString('latin1', 0, end);
      path = head.slice(5, head.indexOf(' ', 5));
      remaining = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      head = '';
      length -= end + 4;
    }
    remaining = Math.max(0, remaining - length);
    if (remaining === 0) respond(socket, path);
  });
});

function respond(socket: Socket, path: string): void {
  if (path.includes('/frames/')) {
    const frames = path.endsWith('/responses') ? RESPONSES : FRAMES;
    stream(socket, FRAME_INTERVAL_MS, { frames, count: frames.length });
  } else if (path.includes('/slow/')) stream(socket, SLOW_INTERVAL_MS, { frames: FRAMES, count: SLOW_FRAMES });
  else socket.write(path.endsWith('/messages') ? MESSAGES : CHAT);
}

function stream(
  socket: Socket,
  interval: number,
  { frames, count }: { frames: readonly Buffer[]; count: number },
): void {
  let sent = 0;
  socket.write(STREAM_HEAD);
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer);
    // The last of the frames ends the text, so a longer stream repeats the others.
    const isLast = sent === count - 1;
    const next = count > frames.length ? sent % (frames.length - 2) : sent;
    socket.write(frames[isLast ? frames.length - 1 : next] ?? LAST_CHUNK);
    sent++;
    if (!isLast) return;
    clearInterval(timer);
    socket.write(LAST_CHUNK);
  }, interval);
}

server.listen(0, '127.0.0.1', 10_000, () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
