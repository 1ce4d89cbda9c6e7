/** The operation `complete`: answers a conversation. */

import { unfold } from '../../core/fold.ts';
import { planTranslation } from '../request/translation.ts';
import { learnState, rememberState } from '../response/context.ts';
import { streamWhole } from '../response/stream.ts';
import { encodeAnswer, relayAnswer } from '../response/whole.ts';
import { expectedUsageOf } from '../tokens/expected-usage.ts';
import { reservationOf } from '../tokens/reservation.ts';
import type { OperationHandler } from './handler.ts';

export const complete: OperationHandler = {
  free: false,
  expectedUsage: expectedUsageOf,
  reservation: reservationOf,
  translate: planTranslation,
  readWhole({ bytes, json }, context) {
    const { call, planned, options, rounds } = context;
    if (planned.upstream === call.protocol && !call.stream) {
      learnState(context, json);
      return relayAnswer(bytes, json, context);
    }
    for (const event of unfold(planned.upstream.operations.complete.decodeResponse(json, planned.target)))
      rounds.join(event);
    const more = rounds.next();
    if (more) {
      context.continueUpstream(more);
      return undefined;
    }
    rememberState(context);
    const response = rounds.response();
    const body = call.stream
      ? Buffer.from(streamWhole(response, call.protocol, options))
      : encodeAnswer(response, call.protocol, options);
    return { body, usage: response.usage, facts: rounds.facts() };
  },
};
