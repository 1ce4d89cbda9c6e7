/** Captured body: recorded bytes without their secrets, as text or as frames with their times. */

import { maskCutSecret, maskSecrets } from '../../core/credential.ts';
import { createFramer, type Framer } from '../../core/sse.ts';
import { framerFor } from '../../transport/framing/index.ts';
import type { RecordedBytes, RecordedPiece } from './recorded-bytes.ts';

export interface CapturedBody {
  /** Size of the whole body in bytes. */
  bytes: number;
  /** Whether the end is missing. */
  truncated: boolean;
  /** Whole body. */
  text?: string;
  /** Frames of a stream. */
  frames?: { ms: number; text: string }[];
  /** Whole body that is no text. */
  base64?: string;
}

const TEXT = /json|text|xml|form|javascript/i;
const STREAMS = ['aws-event-stream', 'json-lines'] as const;

/** Body with secrets masked. `type`: value of `content-type`; a missing one counts as text. */
export function captureBody(
  recorded: RecordedBytes,
  type: string | undefined,
  secrets: readonly Buffer[],
): CapturedBody {
  const { total, isTruncated } = recorded;
  const pieces = withoutSecrets(recorded, secrets);
  const about = { bytes: total, truncated: isTruncated };
  const frames = framesOf(pieces, type);
  if (frames) {
    for (const { bytes } of frames) maskSecrets(bytes, secrets);
    return { ...about, frames: frames.map(({ ms, bytes }) => ({ ms, text: bytes.toString() })) };
  }
  const whole = Buffer.concat(pieces.map(({ bytes }) => bytes));
  return TEXT.test(type ?? 'text')
    ? { ...about, text: whole.toString() }
    : { ...about, base64: whole.toString('base64') };
}

/** The pieces of one copy, in which a secret may reach over several of them. */
function withoutSecrets({ pieces, isTruncated }: RecordedBytes, secrets: readonly Buffer[]): RecordedPiece[] {
  const whole = Buffer.concat(pieces.map(({ bytes }) => bytes));
  maskSecrets(whole, secrets);
  if (isTruncated) maskCutSecret(whole, secrets);
  let start = 0;
  return pieces.map(({ ms, bytes: { length } }) => {
    const bytes = whole.subarray(start, start + length);
    start += length;
    return { ms, bytes };
  });
}

/** Each frame has the time of its last byte; undefined for a body that is no stream. */
function framesOf(pieces: readonly RecordedPiece[], type: string | undefined): RecordedPiece[] | undefined {
  const create = framerOf(type);
  if (!create) return undefined;
  const framer = create();
  const frames: RecordedPiece[] = [];
  try {
    for (const { ms, bytes } of pieces) for (const frame of framer.push(bytes)) frames.push({ ms, bytes: frame });
    for (const frame of framer.end()) frames.push({ ms: pieces.at(-1)?.ms ?? 0, bytes: frame });
  } catch {
    // A stream that its framing does not fit is shown as bytes.
    return undefined;
  }
  return frames;
}

function framerOf(type: string | undefined): (() => Framer) | undefined {
  if (type?.startsWith('text/event-stream')) return createFramer;
  for (const framing of STREAMS) {
    const create = framerFor({ framing }, type);
    if (create) return create;
  }
  return undefined;
}
