/** Model name replacement: the gateway's name for a model in the bytes of an upstream's response. */

import { everySpanAt, spliceAll } from '../../core/json/spans.ts';
import type { Operation } from '../../core/operation.ts';
import { createMarkSearch, type FrameText } from './mark-search.ts';

/** Replaces the model name at every path of the protocol in a whole body, repeated members included. */
export function nameModel(bytes: Buffer, { modelPaths }: Pick<Operation, 'modelPaths'>, model: string): Buffer {
  return spliceAll(bytes, everySpanAt(bytes, modelPaths), JSON.stringify(model));
}

/** Start of an escaped letter of a member name; all letters have codes below 256. */
const ESCAPED_LETTER = '\\u00';

/**
 * Replaces the model name in the frames of one stream, whose JSON begins at `brace`. Most streams repeat all bytes up to the
 * name, so a frame with the same prefix as the previous one has the name at the same position.
 */
export function createRenamer(
  { modelPaths }: Pick<Operation, 'modelPaths'>,
  model: string,
): (frame: Buffer, brace: number, out: (Buffer | string)[], text: FrameText) => void {
  const name = Buffer.from(JSON.stringify(model));
  const mayHoldName = createMarkSearch([
    ...modelPaths.map((path) => JSON.stringify(path.at(-1) ?? '')),
    ESCAPED_LETTER,
  ]);
  let known: Buffer = name.subarray(0, 0);
  let knownText = '';
  let begin: Buffer = known;

  function isRepeated(frame: Buffer, text: FrameText): boolean {
    if (known.length === 0 || frame.length < known.length) return false;
    if (typeof text === 'string') return text.startsWith(knownText);
    return frame.compare(known, 0, known.length, 0, known.length) === 0;
  }

  return (frame, brace, out, text) => {
    if (isRepeated(frame, text) && !mayHoldName(text, known.length)) {
      out.push(begin, name, frame.subarray(known.length));
      return;
    }
    const json = frame.subarray(brace);
    const spans = mayHoldName(text, brace) ? everySpanAt(json, modelPaths) : [];
    const [span] = spans;
    if (!span || spans.length > 1) {
      if (span) out.push(frame.subarray(0, brace));
      out.push(span ? spliceAll(json, spans, name.toString()) : frame);
      return;
    }
    known = frame.subarray(0, brace + span.end);
    knownText = known.toString('latin1');
    begin = frame.subarray(0, brace + span.start);
    out.push(begin, name, frame.subarray(known.length));
  };
}
