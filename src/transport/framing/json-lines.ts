/** JSON lines: one JSON value a line, which becomes the data of one server-sent event. */

import { ByteCollector } from '../../core/byte-collector.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Framer } from '../../core/sse.ts';

const LF = 10;
const CR = 13;
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const PREFIX = Buffer.from('data: ');
const SUFFIX = Buffer.from('\n\n');

export function createJsonLinesFramer(): Framer {
  const pending = new ByteCollector();

  function take(last: Buffer): Buffer[] {
    if (pending.size > 0) pending.add(last);
    const line = pending.size > 0 ? pending.take() : last;
    const trimmed = line.at(-1) === CR ? line.subarray(0, -1) : line;
    return trimmed.length === 0 ? [] : [Buffer.concat([PREFIX, trimmed, SUFFIX])];
  }

  return {
    push(chunk) {
      const frames: Buffer[] = [];
      let start = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
        frames.push(...take(chunk.subarray(start, end)));
        start = end + 1;
      }
      if (start < chunk.length) pending.addCopy(chunk.subarray(start));
      if (pending.size > MAX_LINE_BYTES) throw new GatewayError('upstream_error', 'The upstream sent an endless line.');
      return frames;
    },
    end: () => (pending.size === 0 ? [] : take(Buffer.alloc(0))),
    get pending() {
      return pending.size;
    },
  };
}
