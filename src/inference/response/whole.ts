/** Whole responses: relayed or translated. */

import type { ChatResponse, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { copyJson } from '../../core/json/copy.ts';
import { isObject, type Json, valueAt } from '../../core/json/json.ts';
import { setMembers } from '../../core/json/members.ts';
import type { AnswerFacts, Cost, CostOf, EncoderOptions, Operation } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { Plan } from '../request/planned-request.ts';
import { estimateOutput } from '../tokens/estimate.ts';
import { textOfParts } from './assembler.ts';
import type { ResponseContext } from './context.ts';
import { costOf } from './cost.ts';
import { boundFacts } from './facts.ts';
import { addMissing } from './missing-members.ts';
import { nameModel } from './model-name.ts';
import { createTextMeter } from './text-meter.ts';

export interface WholeResponse {
  body: Buffer;
  usage?: Partial<Usage>;
  facts?: AnswerFacts;
}

/** Throws the error in the body of a 200 response, and `upstream_error` for anything that is not an object. */
export function checkResponse(body: Json, protocol: Protocol): void {
  const error = isObject(body) ? protocol.errorIn(body) : undefined;
  if (error) throw error;
  if (!isObject(body))
    throw new GatewayError('upstream_error', 'The upstream answered with something that is not an object.');
}

/** The upstream's bytes, from which `body` was parsed, with the gateway's model name and the cost. */
export function relayResponse(
  bytes: Buffer,
  body: Json,
  context: Pick<ResponseContext, 'call' | 'planned' | 'options' | 'charge'>,
): WholeResponse {
  const { call, planned, options } = context;
  const { operation } = call;
  const reported = operation.usageOf(body);
  const usage = reported?.output ? reported : counted(body, planned, reported);
  const facts = boundFacts(operation.factsOf(body));
  const charged = (usage: Usage): Cost | undefined => costOf(usage, facts.finish, context);
  const priced = reported ? addCost(bytes, body, { operation, usage, costOf: charged }) : bytes;
  return {
    body: nameModel(addMissing(priced, body, operation.requiredMembers), operation, options.model),
    usage,
    facts,
  };
}

interface Counted {
  operation: Pick<Operation, 'cost'>;
  usage: Partial<Usage>;
  costOf?: CostOf;
}

/** Adds the cost to a body or frame with usage, if the protocol has a member for it. */
export function addCost(bytes: Buffer, body: Json, { operation: { cost }, usage, costOf }: Counted): Buffer {
  if (!cost || !costOf) return bytes;
  const path = cost.paths.find((place) => isObject(valueAt(body, place)));
  if (!path) return bytes;
  const members = cost.members(valueAt(body, path), usage, costOf);
  return members.length === 0 ? bytes : setMembers(bytes, path, members);
}

/** Estimated usage of a response whose upstream counted none of its output. */
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

export function encodeResponse(response: ChatResponse, client: Protocol, options: EncoderOptions): Buffer {
  return Buffer.from(JSON.stringify(client.operations.complete.encodeResponse(response, options)));
}
