/** Response context: the attempt whose answer is written, and the callbacks for its outcome. */

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
import type { Reply } from './reply.ts';

/** Outcome of an answer of which the client gets something. */
export interface AttemptResult {
  status: 'complete' | 'failed';
  facts?: AnswerFacts;
  usage?: Partial<Usage>;
  /** The usage is that of an answer which was cut. */
  partial?: boolean;
  error?: GatewayError;
  /** Writes the last bytes. Called once, after the outcome is recorded. */
  finish(): void;
}

export interface ResponseContext {
  call: InferenceCall;
  endpoint: Endpoint;
  planned: Plan;
  reply: Reply;
  options: EncoderOptions;
  /** Absent unless the request is translated. */
  assembler?: ResponseAssembler;
  memory: StateMemory;
  /** Keeps pictures that the client's protocol has no place for; absent where none are kept. */
  pictures?: PictureStore | undefined;
  /** Milliseconds of silence after which a stream gets a comment or ping. */
  keepAlive: number;
  timer: DeadlineTimer;
  /** What the answer holds in memory until the client has it. */
  share: ByteShare;
  /** Further headers of the answer, asked for when it begins. */
  routingHeaders(): Record<string, string>;
  /** Asks the upstream for the next round of its answer. */
  continueUpstream(body: Buffer): void;
  /** Wants nothing more of the upstream. */
  abortUpstream(): void;
  /** What an answer costs, in 1e-12 USD; undefined where nobody knows. */
  charge(consumption: Consumption): bigint | undefined;
  /** The answer is over, but for the last bytes, which `finish` writes. */
  resolve(result: AttemptResult): void;
  /** Nothing was written yet: the caller may answer with the error or ask elsewhere. */
  reject(error: GatewayError): void;
}

export type UpstreamHeaders = Record<string, string | undefined>;
