/** An upstream's answer that comes in one piece: relayed or translated. */

import type { ChatResponse, Usage } from '../../core/chat.ts';
import { codeOfUpstreamStatus, GatewayError, redact } from '../../core/errors.ts';
import { readAtOnce } from '../../core/json/answer.ts';
import { copyJson, isObject, type Json, valueAt } from '../../core/json/json.ts';
import { setMembers } from '../../core/json/members.ts';
import type { AnswerFacts, EncoderOptions, Operation } from '../../core/operation.ts';
import type { Platform } from '../../core/platform.ts';
import type { Protocol } from '../../core/protocol.ts';
import { parseRetryAfter } from '../../core/retry-after.ts';
import type { Plan } from '../request/planned-request.ts';
import { estimateOutput } from '../tokens/estimate.ts';
import { textOfParts } from './assembler.ts';
import type { ResponseContext } from './context.ts';
import { boundFacts } from './facts.ts';
import { addMissing } from './missing-members.ts';
import { nameModel } from './model-name.ts';
import { createTextMeter } from './text-meter.ts';

export interface WholeAnswer {
  body: Buffer;
  usage?: Partial<Usage>;
  facts?: AnswerFacts;
}

/** Throws the error that a 200 answer carries, and `upstream_error` for anything that is not an object. */
export function checkAnswer(body: Json, protocol: Protocol): void {
  const error = isObject(body) ? protocol.errorIn(body) : undefined;
  if (error) throw error;
  if (!isObject(body))
    throw new GatewayError('upstream_error', 'The upstream answered with something that is not an object.');
}

/** The upstream's bytes, which `body` was read from, with the gateway's name for the model and what the answer costs. */
export function relayAnswer(
  bytes: Buffer,
  body: Json,
  delivery: Pick<ResponseContext, 'call' | 'planned' | 'options'>,
): WholeAnswer {
  const { call, planned, options } = delivery;
  const { operation } = call;
  const reported = operation.usageOf(body);
  const usage = reported?.output ? reported : counted(body, planned, reported);
  const priced = reported ? addCost(bytes, body, { operation, usage, options }) : bytes;
  return {
    body: nameModel(addMissing(priced, body, operation.requiredMembers), operation, options.model),
    usage,
    facts: boundFacts(operation.factsOf(body)),
  };
}

interface Counted {
  operation: Pick<Operation, 'cost'>;
  usage: Partial<Usage>;
  options: EncoderOptions;
}

/** The text of a body or frame that reports usage, which says what that costs where its protocol has a place for it. */
export function addCost(bytes: Buffer, body: Json, { operation: { cost }, usage, options }: Counted): Buffer {
  if (!cost || !options.costOf) return bytes;
  const counted = valueAt(body, cost.path);
  const members = isObject(counted) ? cost.members(counted, usage, options.costOf) : [];
  return members.length === 0 ? bytes : setMembers(bytes, cost.path, members);
}

/** What an answer says whose upstream counted none of its output, by our own count. */
function counted(body: Json, plan: Plan, reported: Partial<Usage> | undefined): Partial<Usage> {
  const output = outputOf(body, plan);
  return reported && output === 0 ? reported : { ...reported, output, estimated: true };
}

function outputOf(body: Json, { upstream, target }: Plan): number {
  try {
    const { candidates } = upstream.operations.complete.decodeResponse(copyJson(body), target);
    return estimateOutput(candidates.map(({ parts }) => textOfParts(parts)).join(' '));
  } catch {
    const meter = createTextMeter(upstream.operations.complete.textPlaces);
    meter.add(Buffer.from(JSON.stringify(body)));
    return meter.tokens();
  }
}

export function encodeAnswer(response: ChatResponse, client: Protocol, options: EncoderOptions): Buffer {
  return Buffer.from(JSON.stringify(client.operations.complete.encodeResponse(response, options)));
}

interface Refusal {
  status: number;
  headers: Record<string, string | undefined>;
  bytes: Buffer;
  /** The upstream speaks the client's protocol, so that its own words may go out as they are. */
  relayed: boolean;
  platform: Pick<Platform, 'decodeError'>;
}

/** These say something of the gateway's own account at the upstream and never reach a client. */
const ACCOUNT_STATUSES = [401, 402, 403, 407];

/** What an upstream's error answer means to the client; its words stay, but for secrets. */
export function errorOf({ status, headers, bytes, relayed, platform }: Refusal, plan: Plan): GatewayError {
  const body = readObject(bytes);
  const special = platform.decodeError?.({ status, headers, body });
  const decoded = special ?? errorInBody(status, body, plan);
  const own = !special && isObject(body?.error) && plan.upstream.errorIn(body) !== undefined;
  const clean = relayed && own && !ACCOUNT_STATUSES.includes(status) && isClean(bytes);
  return new GatewayError(decoded.code, redact(decoded.message), {
    param: decoded.param,
    retryAfter: retryAfterOf(headers) ?? decoded.retryAfter,
    upstreamStatus: status,
    answer: clean && decoded.code !== 'upstream_error' ? { status, body: bytes } : undefined,
  });
}

function errorInBody(status: number, body: Json, { upstream }: Plan): GatewayError {
  return body
    ? upstream.decodeError(status, body)
    : new GatewayError(codeOfUpstreamStatus(status), `The upstream answered with status ${status}.`);
}

function readObject(bytes: Buffer): Json {
  try {
    const body = readAtOnce(bytes);
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function isClean(bytes: Buffer): boolean {
  const text = bytes.toString('utf8');
  return redact(text) === text;
}

/** Milliseconds, from `retry-after-ms` or `retry-after` in seconds or as a date. */
function retryAfterOf(headers: Record<string, string | undefined>): number | undefined {
  const milliseconds = Number(headers['retry-after-ms']);
  if (headers['retry-after-ms'] && milliseconds >= 0) return milliseconds;
  return parseRetryAfter(headers['retry-after'], Date.now());
}
