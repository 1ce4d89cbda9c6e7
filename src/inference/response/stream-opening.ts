/** Opening of a relayed stream: output before the first event of the response, held back because an error may follow. */

import { GatewayError } from '../../core/errors.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import { ownCopy } from '../../core/own-bytes.ts';
import type { SseEvent } from '../../core/sse.ts';
import type { Output } from './converter.ts';

/** Maximum size of the frames before the first event of the response. */
const MAX_OPENING_BYTES = 64 * 1024;
/** Size of comments, pings and silent frames; further comments and pings are dropped, and silent frames sent. */
const MAX_SILENT_BYTES = 4 * 1024;
/** Maximum of an unread preamble that is held back; after it, an error can no longer replace the response. */
const MAX_PREAMBLE_BYTES = 1024 * 1024;
/** Bytes of a frame that tell whether it is an unread preamble. */
const START_BYTES = 96;

type OpeningOperation = Pick<CompleteOperation, 'isPing' | 'isPreamble' | 'isSilent' | 'isUnreadPreamble'>;

export class StreamOpening {
  readonly #operation: OpeningOperation;
  /** Output of the frames that were taken. */
  held: Output[] = [];
  #heldBytes = 0;
  /** First frame of an unread preamble. */
  preamble: Buffer | undefined;
  #preambleBytes = 0;

  constructor(operation: OpeningOperation) {
    this.#operation = operation;
  }

  /** Size of the frames that are held back. */
  get bytes(): number {
    return this.#heldBytes + this.#preambleBytes;
  }

  /** Whether the preamble is too long to be held back. */
  get isFull(): boolean {
    return this.#preambleBytes > MAX_PREAMBLE_BYTES;
  }

  /** Takes a frame of an unread preamble; false for any other one. */
  takeUnread(frame: Buffer): boolean {
    if (!this.#operation.isUnreadPreamble?.(frame.toString('latin1', 0, START_BYTES))) return false;
    this.preamble ??= ownCopy(frame, 0, frame.length);
    this.#preambleBytes += frame.length;
    return true;
  }

  /** Takes a frame that was read, unless it is dropped. Throws `upstream_error` for too many frames that begin no response. */
  take(frame: Buffer, event: SseEvent | undefined): 'dropped' | 'held' | 'begins' {
    const isPing = !event || this.#operation.isPing?.(event) === true;
    // Comments and pings are not needed before the first frame.
    if (isPing && this.#heldBytes + frame.length > MAX_SILENT_BYTES) return 'dropped';
    const begins = !isPing && !this.#isHeldBack(event);
    if (!begins && this.#heldBytes + frame.length > MAX_OPENING_BYTES) throw neverBegins();
    this.#heldBytes += frame.length;
    return begins ? 'begins' : 'held';
  }

  /** Moves the held output to `out`. */
  release(out: Output[]): void {
    for (const output of this.held) out.push(output);
    this.held = [];
    this.#heldBytes = 0;
    this.#preambleBytes = 0;
  }

  #isHeldBack(event: SseEvent): boolean {
    const operation = this.#operation;
    if (operation.isPreamble?.(event)) return true;
    return this.#heldBytes <= MAX_SILENT_BYTES && operation.isSilent?.(event) === true;
  }
}

function neverBegins(): GatewayError {
  const message = `The upstream sent ${MAX_OPENING_BYTES} bytes, and no part of its answer.`;
  return new GatewayError('upstream_error', message);
}
