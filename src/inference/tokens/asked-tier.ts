/** Service tier that a request asks for, which decides what it costs unless its answer names another one. */

import { joinTiers } from '../../core/tier-names.ts';
import { protocolOf } from '../../protocols/index.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';

/** By the body of the client. */
export function tierOfBody({ protocol, body }: Pick<InferenceCall, 'protocol' | 'body'>): string | undefined {
  return protocol.operations.complete.tierOf?.(body);
}

/** By the options that a client gives for one provider. */
export function tierOfOptions({ options, dialect }: Pick<Endpoint, 'options' | 'dialect'>): string | undefined {
  return options && protocolOf(dialect.protocol).operations.complete.tierOf?.(options);
}

export function askedTier(call: InferenceCall, endpoint: Endpoint): string | undefined {
  return joinTiers(tierOfBody(call), tierOfOptions(endpoint));
}
