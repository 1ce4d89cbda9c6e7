/** Framings of recorded streams: the bytes that arrived become the messages that were recorded beside them. */

import { type Json, read } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { createAwsEventStreamFramer } from '../../src/transport/framing/aws-event-stream.ts';
import { canonical, contrast } from './answer.ts';

/** A stream in the framing `aws-eventstream`: its bytes, and its messages as another program decoded them. */
export interface FramedStream {
  id: string;
  scenario: string;
  bytes: Buffer;
  messages: { headers: Record<string, string>; payload: Json }[];
}

export interface FramingVerdict {
  id: string;
  scenario: string;
  messages: number;
  /** The first difference. */
  detail?: string;
}

/** Bytes that the framer gets at once: messages are cut and joined. */
const PIECE_BYTES = 1000;

export function judgeFraming({ id, scenario, bytes, messages }: FramedStream): FramingVerdict {
  const detail = differenceOf(bytes, messages);
  return { id, scenario, messages: messages.length, ...(detail !== undefined && { detail }) };
}

function differenceOf(bytes: Buffer, messages: FramedStream['messages']): string | undefined {
  if (messages.length === 0) return 'no message was recorded';
  try {
    const framer = createAwsEventStreamFramer();
    const frames: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      frames.push(...framer.push(bytes.subarray(at, at + PIECE_BYTES)));
    frames.push(...framer.end());
    if (framer.pending !== 0) return `${framer.pending} bytes are left`;
    const events = parseEvents(Buffer.concat(frames));
    if (events.length !== messages.length) return `expected ${messages.length} messages, got ${events.length}`;
    for (const [index, { headers, payload }] of messages.entries()) {
      const { event, data } = events[index] ?? {};
      // InvokeModel wraps an event of the messages protocol.
      const wrapped = payload['bytes(decoded)'];
      const name = wrapped ? wrapped.type : headers[':event-type'];
      if (event !== name) return `message ${index}: ${contrast(String(name), String(event))}`;
      const [expected, actual] = [canonical(wrapped ?? payload), canonical(read(data ?? 'null'))];
      if (expected !== actual) return `message ${index}: ${contrast(expected, actual)}`;
    }
  } catch (error) {
    return `not judged: ${error}`;
  }
  return undefined;
}
