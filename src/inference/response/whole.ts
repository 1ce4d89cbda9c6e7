/** Whole responses: relayed or translated. */

import type { ChatResponse, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { copyJson } from '../../core/json/copy.ts';
import { isObject, type Json, type Member, valueAt } from '../../core/json/json.ts';
import { setMembers } from '../../core/json/members.ts';
import { type Edit, type MemberWatch, withEdits } from '../../core/json/spans.ts';
import type { AnswerFacts, Cost, CostOf, EncoderOptions, Operation } from '../../core/operation.ts';
import type { Protocol, UpstreamProtocol } from '../../core/protocol.ts';
import type { TextPlaces } from '../../core/text-places.ts';
import { boundFacts, hasOutputOrToolUse } from '../../core/usage-bounds.ts';
import type { Plan } from '../request/planned-request.ts';
import { estimateOutput } from '../tokens/estimate.ts';
import { textOfParts } from './assembler.ts';
import type { ResponseContext } from './context.ts';
import { costOf } from './cost.ts';
import { missingMembers } from './missing-members.ts';
import { modelNames } from './model-name.ts';
import { createTextMeter } from './text-meter.ts';

export interface ParsedResponse {
  bytes: Buffer;
  /** The parsed body; reading it throws if it is an error or not an object. */
  json: Json;
  /** Members that the scan of the bytes found, of those that `soughtMembers` names. */
  members: MemberWatch;
}

export interface WholeResponse {
  body: Buffer;
  usage?: Partial<Usage>;
  facts?: AnswerFacts;
}

/** A response that failed on its way to the client; without its JSON if the bytes could not be read. */
export type FailedResponse = Pick<ParsedResponse, 'bytes'> & Partial<ParsedResponse>;

/** Throws the error in the body of a 200 response, and `upstream_error` for anything that is not an object. */
export function checkResponse(body: Json, protocol: UpstreamProtocol): void {
  const error = isObject(body) ? protocol.errorIn(body) : undefined;
  if (error) throw error;
  if (!isObject(body))
    throw new GatewayError('upstream_error', 'The upstream answered with something that is not an object.');
}

/** The upstream's bytes with the gateway's model name, the cost, and the members that clients require. */
export function relayResponse(
  response: ParsedResponse,
  context: Pick<ResponseContext, 'call' | 'planned' | 'options' | 'charge'>,
): WholeResponse {
  const { call, planned, options } = context;
  const { operation } = call;
  const { bytes, json } = response;
  operation.checkAnswer?.(json);
  const reported = operation.usageOf(json);
  const usage = reported?.output ? reported : estimated(response, planned, reported);
  const facts = boundFacts(operation.factsOf(json));
  const charged = (usage: Usage): Cost | undefined => costOf(usage, facts.finish, context);
  const counted = { operation, usage, costOf: charged };
  const missing = operation.requiredMembers && missingMembers(bytes, json, operation.requiredMembers);
  const edits = relayEdits(response, { operation, model: options.model, counted });
  return { body: withEdits(bytes, missing ? [missing, ...edits] : edits), usage, facts };
}

/** Edits of a relayed response: the gateway's model name, and the cost if its usage was counted. */
export function relayEdits(
  { bytes, json, members }: ParsedResponse,
  { operation, model, counted }: { operation: Operation; model: string; counted: Counted | undefined },
): Edit[] {
  const edits = modelNames(bytes, members, { operation, model });
  const cost = counted && costMembers(json, counted);
  // Of a repeated usage, parsers take the last.
  const span = cost && members.spansAt(bytes, [cost.path]).at(-1);
  if (span) edits.push({ ...span, text: setMembers(bytes.subarray(span.start, span.end), [], cost.members) });
  return edits;
}

interface Counted {
  operation: Pick<Operation, 'cost'>;
  usage: Partial<Usage>;
  costOf?: CostOf;
}

/** The cost for a usage. */
interface CostMembers {
  /** Path of the usage in the body. */
  path: readonly string[];
  members: Member[];
}

/** Undefined if the protocol has no member for the cost, or the price is unknown. */
function costMembers(body: Json, { operation, usage, costOf }: Counted): CostMembers | undefined {
  const { cost } = operation;
  const path = usagePath(body, operation);
  if (!cost || !costOf || !path) return undefined;
  const members = cost.members(valueAt(body, path), usage, costOf);
  return members.length === 0 ? undefined : { path, members };
}

/** Path of the usage in a body, whether or not its counts are valid; undefined without one. */
export function usagePath(body: Json, { cost }: Pick<Operation, 'cost'>): readonly string[] | undefined {
  return cost?.paths.find((place) => isObject(valueAt(body, place)));
}

/** Adds the cost to a frame with usage, if the protocol has a member for it. */
export function addCost(bytes: Buffer, body: Json, counted: Counted): Buffer {
  const cost = costMembers(body, counted);
  return cost ? setMembers(bytes, cost.path, cost.members) : bytes;
}

/** Estimated usage of a response whose upstream counted none of its output. */
function estimated(response: ReadBody, plan: Plan, reported: Partial<Usage> | undefined): Partial<Usage> {
  const output = outputOf(response, plan);
  return reported && output === 0 ? reported : { ...reported, output, estimated: true };
}

type ReadBody = Pick<ParsedResponse, 'bytes' | 'json'>;

/** Of the bytes, where the body cannot be decoded: one that nests too deeply cannot be written again either. */
function outputOf({ bytes, json }: ReadBody, plan: Plan): number {
  try {
    const { candidates } = plan.upstream.operations.complete.decodeResponse(copyJson(json), plan.target);
    return estimateOutput(candidates.map(({ parts }) => textOfParts(parts)).join(' '));
  } catch {
    return textTokens(bytes);
  }
}

/** Places of text in the whole responses of all protocols. */
const WHOLE_TEXT_PLACES: TextPlaces = {
  after: ['"choices"', '"parts"', '"output"', '"content"'],
  text: ['content', 'text', 'thinking', 'reasoning_content', 'refusal'],
  calls: ['arguments', 'args', 'input'],
  several: true,
};

function textTokens(bytes: Buffer): number {
  const meter = createTextMeter(WHOLE_TEXT_PLACES);
  meter.add(bytes);
  return meter.tokens();
}

/**
 * Usage of a response that failed on its way to the client: that of the rounds before it, and what was generated of it, as reported or else
 * estimated. Undefined if nothing was generated.
 */
export function generatedUsage(
  { bytes, json }: FailedResponse,
  { planned, assembler }: Pick<ResponseContext, 'planned' | 'assembler'>,
): Partial<Usage> | undefined {
  const reported = json && planned.operation.usageOf(json);
  const output = reported?.output || (json ? outputOf({ bytes, json }, planned) : textTokens(bytes));
  const own: Usage = { input: 0, ...reported, output, ...(!reported?.output && { estimated: true }) };
  const usage = assembler ? assembler.generatedUsage(hasOutputOrToolUse(own) ? own : undefined) : own;
  return usage && (hasOutputOrToolUse(usage) || usage.reportedCost !== undefined) ? usage : undefined;
}

export function encodeResponse(response: ChatResponse, client: Protocol, options: EncoderOptions): Buffer {
  return Buffer.from(JSON.stringify(client.operations.complete.encodeResponse(response, options)));
}
