/** What every part of an answer's way back needs to know. */

import type { ByteShare } from '../../core/byte-budget.ts';
import type { OpenPart, Usage } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { decimalOf } from '../../core/money.ts';
import type { AnswerFacts, EncoderOptions } from '../../core/operation.ts';
import type { PictureStore } from '../../core/picture-store.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { DeadlineTimer } from '../../transport/deadlines.ts';
import { type Consumption, isPriced } from '../../usage/meter.ts';
import type { Plan } from '../request/planned-request.ts';
import type { StateMemory } from '../state/memory.ts';
import type { ResponseAssembler } from './assembler.ts';
import type { Reply } from './reply.ts';

/** What became of an answer that was begun. */
export interface AttemptResult {
  status: 'complete' | 'failed';
  facts?: AnswerFacts;
  usage?: Partial<Usage>;
  /** The usage is that of an answer which was cut. */
  partial?: boolean;
  error?: GatewayError;
  /** Writes the end of the answer. Called once, when what became of it is written down. */
  release(): void;
}

export interface ResponseContext {
  call: InferenceCall;
  endpoint: Endpoint;
  planned: Plan;
  reply: Reply;
  options: EncoderOptions;
  rounds: ResponseAssembler;
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
  /** The answer is over, but for what `release` still writes. */
  resolve(relayed: AttemptResult): void;
  /** Nothing was written yet: the caller may answer with the error or ask elsewhere. */
  reject(error: GatewayError): void;
}

export type UpstreamHeaders = Record<string, string | undefined>;

/** Clients give up on answers whose headers are too long; the names of a body's members have no limit. */
const LONGEST_HEADER = 2000;
const VISIBLE = /^[\x21-\x7e]{1,200}$/;

/** Headers of a 200 answer; those of the upstream stay behind, but for its request id. */
export function answerHeaders(
  delivery: ResponseContext,
  upstream: UpstreamHeaders,
  type: string,
): Record<string, string> {
  const { endpoint, planned } = delivery;
  const requestId = upstream['x-request-id'] ?? upstream['request-id'];
  return {
    'content-type': type,
    'x-polygate-provider': endpoint.provider.id,
    'x-polygate-path': planned.path,
    ...droppedHeader(planned.dropped),
    ...delivery.routingHeaders(),
    ...(requestId && VISIBLE.test(requestId) && { 'x-polygate-upstream-request-id': requestId }),
  };
}

/** What was left out, by its names. */
function droppedHeader(names: readonly string[]): Record<string, string> {
  const dropped = names
    .join(', ')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, LONGEST_HEADER);
  return dropped === '' ? {} : { 'x-polygate-dropped': dropped };
}

const LINK = /^https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]{1,1000}$/;

/**
 * What of an answer the client's protocol has no place for, named beside `before` as a header or trailer. Where it has an
 * address it is linked, and a picture without one where it can be kept.
 */
export function unshownHeaders(
  { call: { protocol, requestId }, planned, rounds, pictures }: ResponseContext,
  before: readonly string[] = [],
): Record<string, string> {
  const { complete } = protocol.operations;
  if (planned.upstream === protocol || !complete.unshown) return {};
  let index = 0;
  const keep = (data: string) => pictures?.keep({ requestId, index: index++, data });
  const unshown = rounds.parts().flatMap((part) => {
    const found = complete.unshown?.(part);
    if (!found || found.url) return found ?? [];
    const data = pictureIn(part);
    return { ...found, ...(data !== undefined && { url: keep(data) }) };
  });
  if (unshown.length === 0) return {};
  const links = linksOf(unshown.flatMap(({ url }) => (url && LINK.test(url) ? [`<${url}>; rel="enclosure"`] : [])));
  return {
    ...droppedHeader([...new Set([...before, ...unshown.map(({ name }) => name)])]),
    ...(links !== '' && { link: links }),
  };
}

/** As many whole links as a header holds. */
function linksOf(links: readonly string[]): string {
  return links.reduce((all, link) => {
    const longer = all === '' ? link : `${all}, ${link}`;
    return longer.length > LONGEST_HEADER ? all : longer;
  }, '');
}

/** Base64 of an inline picture. */
function pictureIn(part: OpenPart): string | undefined {
  return part.type === 'media' && part.kind === 'image' ? part.data : undefined;
}

export const COST_HEADER = 'x-polygate-cost';

/** What an answer costs in USD, as a header or trailer; none where nobody knows. */
export function costHeader({ call, charge }: ResponseContext, consumption: Consumption): Record<string, string> {
  const cost = call.operation.name === 'count-tokens' ? undefined : charge(consumption);
  return cost === undefined ? {} : { [COST_HEADER]: decimalOf(cost) };
}

/** Announces the cost where it will be known. */
export function costTrailer({ endpoint }: ResponseContext): Record<string, string> {
  return isPriced(endpoint.model) ? { trailer: COST_HEADER } : {};
}

/** Keeps what the client may fail to hand back with its next turn. */
export function rememberState({ call, planned, rounds, memory }: ResponseContext): void {
  memory.remember(call.owner, planned.target.origin, rounds.parts());
}

/** Notes whose state a relayed answer, or a frame of it, shows to the client. */
export function learnState({ planned, memory }: ResponseContext, body: Json): void {
  memory.recordOwner(body, planned.upstream.operations.complete, planned.target.origin);
}
