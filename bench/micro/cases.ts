/** Steps on bytes: bodies of requests, records of the usage journal, frames of streams. */

import { read, spanAt } from '../../src/core/json/json.ts';
import { guard } from '../../src/core/json/scan.ts';
import { createFramer, parseFrame } from '../../src/core/sse.ts';
import { estimateOutput } from '../../src/inference/tokens/estimate.ts';
import { maxRecordBytes, RECORD_KINDS, sealRecord, writeRecord } from '../../src/usage/journal/format.ts';
import { CHAT_FRAMES } from '../programs/answers.ts';
import { large, medium, passthrough } from '../workload.ts';
import type { MicroCase } from './measure.ts';

const SIZES = [
  { size: '2 kB', body: passthrough.body('up/m') },
  { size: '100 kB', body: medium.body('up/m') },
  { size: '5 MB', body: large.body('up/m') },
];

export function bodyCases(): MicroCase[] {
  return SIZES.flatMap(({ size, body }) => {
    const bytes = Buffer.from(body);
    const text = bytes.length;
    return [
      { name: `guard, ${size}`, bytes: text, run: () => guard(bytes) },
      { name: `read, ${size}`, bytes: text, run: () => read(bytes) },
      { name: `span of the model, ${size}`, bytes: text, run: () => spanAt(bytes, ['model']) },
      { name: `estimate of tokens, ${size}`, bytes: text, run: () => estimateOutput(body) },
    ];
  });
}

/** About what an intent and a completion have. */
const RECORD = JSON.stringify({ id: 'req_0123456789abcdef0123456789abcdef', model: 'up/m', text: 'x'.repeat(300) });

export function journalCases(): MicroCase[] {
  const buffer = Buffer.alloc(maxRecordBytes(RECORD) + 64);
  return [
    {
      ...{ name: 'journal record, written and sealed', bytes: RECORD.length },
      run() {
        writeRecord(buffer, 0, RECORD_KINDS.begin, RECORD);
        sealRecord(buffer, 0, 1);
      },
    },
  ];
}

export function streamCases(): MicroCase[] {
  const frames = CHAT_FRAMES.map((frame) => Buffer.from(frame));
  const all = Buffer.concat(frames);
  return [
    {
      ...{ name: 'framer, 100 frames, one at a time', bytes: all.length },
      run() {
        const framer = createFramer();
        for (const frame of frames) framer.push(frame);
      },
    },
    { name: 'framer, 100 frames in one piece', bytes: all.length, run: () => createFramer().push(all) },
    { name: 'event of a frame', bytes: frames[1]?.length ?? 0, run: () => parseFrame(frames[1] as Buffer) },
  ];
}
