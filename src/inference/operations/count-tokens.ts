/** The operation `count-tokens`: counts the input tokens of a conversation, free of charge. */

import { GatewayError } from '../../core/errors.ts';
import { planTranslation } from '../request/translation.ts';
import { expectedUsageOf } from '../tokens/expected-usage.ts';
import type { OperationHandler } from './handler.ts';
import { nothingReserved } from './reservations.ts';

export const countTokens: OperationHandler = {
  free: true,
  isTiered: false,
  hasOutput: true,
  expectedUsage: expectedUsageOf,
  reservation: nothingReserved,
  translate: planTranslation,
  readWhole({ bytes, json }, { call, planned }) {
    const tokens = planned.upstream.operations['count-tokens']?.decodeCount(json);
    if (tokens === undefined)
      throw new GatewayError('upstream_error', 'The upstream did not say how many tokens it counted.');
    if (planned.path !== 'translated') return { body: bytes };
    return { body: Buffer.from(JSON.stringify(call.protocol.operations['count-tokens']?.encodeCount(tokens))) };
  },
  failedUsage: () => undefined,
};
