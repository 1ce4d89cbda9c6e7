/** Codecs of a stream: events of the hub to the text of a protocol's stream, and back. */

import type { ChatEvent, Usage } from './chat.ts';
import type { GatewayError } from './errors.ts';
import type { SseEvent } from './sse.ts';

/** Stream encoder: converts events to the text of a stream; `end` is called once after the last event. */
export interface StreamEncoder {
  /** Text for an event; may be empty. */
  encode(event: ChatEvent): string;
  /** Text after `message-end`; empty if the last event closes the stream. */
  end(): string;
  /** The text of an error in a stream that has begun, where it depends on the events before; it ends the stream. */
  fail?(error: GatewayError): string;
}

/** Stream decoder: converts frames to events; `end` reports a truncated stream as an error event. */
export interface StreamDecoder {
  decode(event: SseEvent): ChatEvent[];
  /**
   * Decodes a frame that differs from the one before, which was decoded to a delta of text alone, in that text alone. Undefined where
   * the frame may have told more, which waits; such a frame is to be decoded as a whole. Absent where other members differ.
   */
  again?(text: string): ChatEvent[] | undefined;
  end(): ChatEvent[];
  /** Counts reported so far, also where no event has them yet. */
  usage(): Usage | undefined;
  /** Whether every candidate has a finish reason, so that a cut lost the end mark alone. */
  isWhole?(): boolean;
}
