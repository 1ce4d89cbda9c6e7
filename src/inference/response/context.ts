/** Response context: the attempt whose response is written, and the callbacks for its outcome. */

import type { ByteShare } from '../../core/byte-budget.ts';
import type { Usage } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { AnswerFacts, EncoderOptions } from '../../core/operation.ts';
import type { PictureStore } from '../../core/picture-store.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { DeadlineTimer } from '../../transport/deadlines.ts';
import type { Consumption } from '../../usage/meter.ts';
import type { Plan } from '../request/planned-request.ts';
import type { StateMemory } from '../state/memory.ts';
import type { ResponseAssembler } from './assembler.ts';
import type { FinishedItems } from './finished-items.ts';
import type { Reply } from './reply.ts';

/** Outcome of a response of which the client receives at least a part. */
export interface AttemptResult {
  status: 'complete' | 'failed';
  facts?: AnswerFacts;
  usage?: Partial<Usage>;
  /** The usage is that of an incomplete response. */
  partial?: boolean;
  error?: GatewayError;
  /** Stores the answer, if it is to be stored. Called once, before `finish`; never rejects. */
  keep?(): Promise<void>;
  /** Writes the last bytes. Called once, after the outcome is recorded. */
  finish(): void;
}

export interface ResponseContext {
  call: InferenceCall;
  endpoint: Endpoint;
  planned: Plan;
  reply: Reply;
  options: EncoderOptions;
  /** Assembler of the response; absent unless the request is translated. */
  assembler?: ResponseAssembler;
  memory: StateMemory;
  /** Collects the finished items of a relayed answer that is stored. */
  finished?: FinishedItems | undefined;
  /** Store of pictures that the client's protocol cannot represent; absent if none are kept. */
  pictures?: PictureStore | undefined;
  /** Silence after which a stream gets a comment or ping. */
  keepAliveMs: number;
  timer: DeadlineTimer;
  /** Unix milliseconds. */
  now(): number;
  /** Memory of the response in the response budget. */
  share: ByteShare;
  /** Headers about the routing decision, read when the response begins. */
  routingHeaders(): Record<string, string>;
  /** Sends the request of the next round. */
  continueUpstream(body: Buffer): void;
  /** Aborts the upstream request. */
  abortUpstream(): void;
  /** Called when the answer of a stream begins. */
  onAnswer?(): void;
  /** Called when a stream has lasted for some seconds: nothing reads its request any more. */
  onLasting?(): void;
  /** Cost of a response in 1e-12 USD; undefined without a known price. */
  charge(consumption: Consumption): bigint | undefined;
  /** Called at the end of the response; `finish` writes the last bytes. */
  resolve(result: AttemptResult): void;
  /**
   * Called on a failure before the first byte: the caller may respond with the error or try another endpoint. `usage` is that which
   * an upstream reported that generated nothing to show.
   */
  reject(error: GatewayError, usage?: Partial<Usage>): void;
}

export type UpstreamHeaders = Record<string, string | undefined>;
