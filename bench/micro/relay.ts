/**
 * Benchmark of a relayed stream frame, in nanoseconds, without sockets. `node bench/micro/relay.ts [FILE]`: where FILE is the
 * `relay-stream.ts` of another version, both are measured in turns, and the ratio holds on a noisy machine.
 */

import { join, resolve } from 'node:path';
import type { createRelay } from '../../src/inference/response/relay-stream.ts';
import type { protocols } from '../../src/protocols/index.ts';

interface Version {
  createRelay: typeof createRelay;
  /** Those of the same version. */
  protocols: typeof protocols;
}

const TURNS = 40;
const FRAMES = 2000;
const STREAMS_PER_TURN = 5;

const FORMS: Record<string, (text: string) => string> = {
  chat: (text) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`,
  messages: (text) =>
    `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`,
  generate: (text) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0 }], modelVersion: 'm', responseId: 'r' })}\r\n\r\n`,
};

const here = join(import.meta.dirname, '../../src/inference/response/relay-stream.ts');
const files = [here, ...process.argv.slice(2, 3).map((file) => resolve(file))];
const versions = await Promise.all(files.map(load));

async function load(file: string): Promise<Version> {
  const source = file.slice(0, file.lastIndexOf('/src/'));
  return { ...(await import(file)), ...(await import(`${source}/src/protocols/index.ts`)) };
}

/** Nanoseconds of a frame. */
function measure({ createRelay, protocols }: Version, id: string, frames: Buffer[]): number {
  const protocol = protocols.find((candidate) => candidate.id === id);
  if (!protocol) throw new Error(`There is no protocol ${id}.`);
  const options = { model: 'up/m', includeUsage: false } as Parameters<typeof createRelay>[1];
  const began = process.hrtime.bigint();
  for (let stream = 0; stream < STREAMS_PER_TURN; stream++) {
    const relay = createRelay(protocol, options);
    for (const frame of frames) relay.push(frame, []);
  }
  return Number(process.hrtime.bigint() - began) / (STREAMS_PER_TURN * frames.length);
}

for (const [id, form] of Object.entries(FORMS)) {
  const frames = Array.from({ length: FRAMES }, (_, index) => Buffer.from(form(` word${index}`)));
  const times = versions.map((): number[] => []);
  const ratios: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const [mine = 0, other] = versions.map((version, index) => {
      const nanoseconds = measure(version, id, frames);
      times[index]?.push(nanoseconds);
      return nanoseconds;
    });
    if (other !== undefined) ratios.push(mine / other);
  }
  const cells = times.map((list) => `${median(list).toFixed(0)} ns`.padStart(9));
  const ratio = ratios.length === 0 ? '' : `   ratio ${median(ratios).toFixed(2)}`;
  process.stdout.write(`${id.padEnd(10)}${cells.join('')}${ratio}\n`);
}

function median(list: number[]): number {
  return list.toSorted((one, other) => one - other)[list.length >> 1] ?? 0;
}
