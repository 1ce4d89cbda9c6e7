/** Name server on loopback that records its queries. */

import { createSocket, type Socket } from 'node:dgram';
import type { TestContext } from 'node:test';

export interface NameServer {
  /** As in the configuration. */
  address: string;
  asked: string[];
}

/** Answers A questions with an address, with no such name for `missing.*` and names without a dot, and not at all for `slow.*`. */
export async function startNameServer(context: TestContext, address: string): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (question, { port }) => {
    const { name, type, end } = questionOf(question);
    asked.push(name);
    if (name.startsWith('slow.')) return;
    const isMissing = name.startsWith('missing.') || !name.includes('.');
    const hasAnswer = type === 1 && !isMissing;
    const head = Buffer.from(question.subarray(0, 12));
    head.writeUInt16BE(0x8180 | (isMissing ? 3 : 0), 2);
    head.writeUInt16BE(hasAnswer ? 1 : 0, 6);
    head.writeUInt16BE(0, 8);
    head.writeUInt16BE(0, 10);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
    socket.send(Buffer.concat([head, question.subarray(12, end), ...(hasAnswer ? [record] : [])]), port, '127.0.0.1');
  });
  await new Promise<void>((ready) => socket.bind(0, '127.0.0.1', ready));
  context.after(() => closed(socket));
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function questionOf(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: message.readUInt16BE(at + 1), end: at + 5 };
}

const closed = (socket: Socket) => new Promise<void>((done) => socket.close(done));
