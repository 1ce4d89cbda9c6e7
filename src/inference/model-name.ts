/** The gateway's name for a model in the bytes of an upstream's answer. */

import { type Span, spanAt, splice } from '../core/json.ts';
import type { Protocol } from '../core/protocol.ts';

/** A whole body with the model's name replaced where the protocol has it. */
export function nameModel(bytes: Buffer, protocol: Protocol, model: string): Buffer {
  const span = findName(bytes, protocol);
  return span ? splice(bytes, span, JSON.stringify(model)) : bytes;
}

function findName(bytes: Buffer, { modelPaths }: Protocol): Span | undefined {
  for (const path of modelPaths) {
    const span = spanAt(bytes, path);
    if (span) return span;
  }
  return undefined;
}

/**
 * Does the same for the frames of one stream, whose JSON begins at `brace`. Most streams repeat everything up to the
 * name: where a frame begins with the bytes of the last one that had it, the name is known to stand there again.
 */
export function createRenamer(
  protocol: Protocol,
  model: string,
): (frame: Buffer, brace: number, out: (Buffer | string)[]) => void {
  const name = Buffer.from(JSON.stringify(model));
  const marks = [...new Set(protocol.modelPaths.map((path) => path.at(-1) ?? ''))].map((key) =>
    Buffer.from(`"${key}"`),
  );
  let known: Buffer = name.subarray(0, 0);
  let begin: Buffer = known;

  return (frame, brace, out) => {
    const repeated =
      known.length > 0 && frame.length >= known.length && frame.compare(known, 0, known.length, 0, known.length) === 0;
    if (repeated) {
      out.push(begin, name, frame.subarray(known.length));
      return;
    }
    const span = marks.some((mark) => frame.includes(mark)) ? findName(frame.subarray(brace), protocol) : undefined;
    if (!span) {
      out.push(frame);
      return;
    }
    known = frame.subarray(0, brace + span.end);
    begin = frame.subarray(0, brace + span.start);
    out.push(begin, name, frame.subarray(known.length));
  };
}
