/** Stream converter: the bytes of an upstream's stream in, the bytes for the client out. */

import type { Usage } from '../../core/chat.ts';
import type { AnswerFacts } from '../../core/operation.ts';

export type Output = Buffer | string;

/** Fed the upstream's bytes, it appends what the client must get to `out`, also when it throws in the middle of them. */
export interface StreamConverter {
  /** Throws a GatewayError for an upstream that fails. */
  push(chunk: Buffer, out: Output[]): void;
  /** Throws when the upstream closed before its answer was complete. */
  end(out: Output[]): void;
  /** What completes the answer, kept back so far: it goes to the client when the answer is accounted for. */
  last(): Output[];
  /** `ending`: a client would wait for no more, but more may come. `ended`: nothing is to be expected but that the upstream closes. */
  phase(): 'open' | 'ending' | 'ended';
  /** Bytes that it keeps in memory. */
  held(): number;
  /** The upstream said that its answer is complete; what happens to the connection afterwards doesn't matter. */
  complete(): boolean;
  facts(): AnswerFacts;
  usage(): Partial<Usage> | undefined;
  /** The usage of an answer that was cut: what the upstream said so far, completed by an estimate. */
  partialUsage(): Partial<Usage> | undefined;
}

export function joined(out: Output[]): Output {
  return out.length === 1 ? (out[0] as Output) : Buffer.concat(out.map((output) => Buffer.from(output)));
}
