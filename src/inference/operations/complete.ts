/** The operation `complete`: answers a conversation. */

import type { Usage } from '../../core/chat.ts';
import { unfold } from '../../core/fold.ts';
import type { Cost } from '../../core/operation.ts';
import { planTranslation } from '../request/translation.ts';
import { createResponseAssembler, type ResponseAssembler } from '../response/assembler.ts';
import type { ResponseContext } from '../response/context.ts';
import { costOf } from '../response/cost.ts';
import { learnState, rememberState } from '../response/state.ts';
import { streamWhole } from '../response/translate-stream.ts';
import { encodeResponse, generatedUsage, relayResponse, type WholeResponse } from '../response/whole.ts';
import { expectedUsageWithOptions } from '../tokens/expected-usage.ts';
import { reservationOf } from '../tokens/reservation.ts';
import type { OperationHandler } from './handler.ts';

export const complete: OperationHandler = {
  free: false,
  isTiered: true,
  hasOutput: true,
  expectedUsage: expectedUsageWithOptions,
  reservation: reservationOf,
  translate: planTranslation,
  readWhole(parsed, context) {
    const { call, planned } = context;
    const { json, members } = parsed;
    if (planned.path !== 'translated' && !call.stream) {
      if (members.hasName) learnState(context, json);
      return relayResponse(parsed, context);
    }
    const assembler = context.assembler ?? createResponseAssembler(planned);
    for (const event of unfold(planned.upstream.operations.complete.decodeResponse(json, planned.target)))
      assembler.join(event);
    return answerOf(assembler, context);
  },
  readAssembled: answerOf,
  failedUsage: generatedUsage,
};

/** The answer of a complete response; undefined if it paused and a continuation was requested. */
function answerOf(assembler: ResponseAssembler, context: ResponseContext): WholeResponse | undefined {
  const { call } = context;
  const more = assembler.next();
  if (more) {
    context.continueUpstream(more);
    return undefined;
  }
  const response = assembler.response();
  rememberState(context, assembler.parts());
  const facts = assembler.facts();
  const charged = (usage: Usage): Cost | undefined => costOf(usage, facts.finish, context);
  const options = { ...context.options, costOf: charged };
  const body = call.stream
    ? Buffer.from(streamWhole(response, call.protocol, options))
    : encodeResponse(response, call.protocol, options);
  return { body, usage: response.usage, facts };
}
