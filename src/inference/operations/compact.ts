/** The operation `compact`: relays the compaction of a provider. */

import { GatewayError } from '../../core/errors.ts';
import { generatedUsage, relayResponse } from '../response/whole.ts';
import { expectedUsageWithOptions } from '../tokens/expected-usage.ts';
import type { OperationHandler } from './handler.ts';
import { assumedOutputReserved } from './reservations.ts';

export const compact: OperationHandler = {
  free: false,
  isTiered: true,
  hasOutput: true,
  expectedUsage: expectedUsageWithOptions,
  reservation: assumedOutputReserved,
  translate() {
    throw new GatewayError('invalid_request', 'The provider has no compaction.', { param: 'model' });
  },
  readWhole: relayResponse,
  failedUsage: generatedUsage,
};
