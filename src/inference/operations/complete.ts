/** The operation `complete`: answers a conversation. */

import type { Usage } from '../../core/chat.ts';
import { unfold } from '../../core/fold.ts';
import type { Cost } from '../../core/operation.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { planTranslation } from '../request/translation.ts';
import { createResponseAssembler } from '../response/assembler.ts';
import { costOf } from '../response/cost.ts';
import { learnState, rememberState } from '../response/state.ts';
import { streamWhole } from '../response/translate-stream.ts';
import { encodeResponse, relayResponse } from '../response/whole.ts';
import { expectedUsageWithOptions } from '../tokens/expected-usage.ts';
import { reservationOf } from '../tokens/reservation.ts';
import type { OperationHandler } from './handler.ts';

export const complete: OperationHandler = {
  free: false,
  isTiered: true,
  expectedUsage: expectedUsageWithOptions,
  reservation: reservationOf,
  translate: planTranslation,
  readWhole({ bytes, json }, context) {
    const { call, planned } = context;
    if (planned.path !== 'translated' && !call.stream) {
      if (holdsState(bytes, call)) learnState(context, json);
      return relayResponse(bytes, json, context);
    }
    const assembler = context.assembler ?? createResponseAssembler(planned);
    for (const event of unfold(planned.upstream.operations.complete.decodeResponse(json, planned.target)))
      assembler.join(event);
    const more = assembler.next();
    if (more) {
      context.continueUpstream(more);
      return undefined;
    }
    rememberState(context, assembler.parts());
    const response = assembler.response();
    const facts = assembler.facts();
    const charged = (usage: Usage): Cost | undefined => costOf(usage, facts.finish, context);
    const options = { ...context.options, costOf: charged };
    const body = call.stream
      ? Buffer.from(streamWhole(response, call.protocol, options))
      : encodeResponse(response, call.protocol, options);
    return { body, usage: response.usage, facts };
  },
};

/** Whether a response may hold state of the provider, by the names of its members. */
function holdsState(bytes: Buffer, { operation: { state } }: InferenceCall): boolean {
  return state?.fields.some((field) => bytes.includes(field)) === true;
}
