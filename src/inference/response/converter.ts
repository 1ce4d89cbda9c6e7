/** Stream converter: converts the bytes of an upstream stream to bytes for the client. */

import type { Usage } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { AnswerFacts } from '../../core/operation.ts';

export type Output = Buffer | string;

/** Appends its output to `out`, also if it throws afterwards. */
export interface StreamConverter {
  /** Throws a GatewayError for an error in the stream. */
  push(chunk: Buffer, out: Output[]): void;
  /** Throws if the upstream closed the stream before the end of the response. */
  end(out: Output[]): void;
  /** Last output, held back until the usage record is written. */
  last(): Output[];
  /**
   * `uncounted`: the response is complete for a client, and its counts may follow. `ending`: other frames may follow. `ended`: the
   * upstream only has to close the stream.
   */
  phase(): 'open' | 'uncounted' | 'ending' | 'ended';
  /** Bytes held in memory, without those of a translated end. */
  held(): number;
  /** Bytes of a translated end, which may repeat the whole answer several times. */
  endBytes(): number;
  /** The upstream marked its response as complete; a later connection error has no effect. */
  complete(): boolean;
  /** The text of an error that ends the stream, where it depends on the frames sent before. */
  fail?(error: GatewayError): string | undefined;
  facts(): AnswerFacts;
  /** Id of the response in the first event of a relayed stream. */
  firstId?(): string | undefined;
  usage(): Partial<Usage> | undefined;
  /** Usage of an incomplete response: the counts reported so far, completed by an estimate. */
  partialUsage(): Partial<Usage> | undefined;
}

export function joined(out: Output[]): Output {
  return out.length === 1 ? (out[0] as Output) : Buffer.concat(out.map(outputBytes));
}

export function outputBytes(output: Output): Buffer {
  return typeof output === 'string' ? Buffer.from(output) : output;
}
