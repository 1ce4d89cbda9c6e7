/** Service tier that a request asks for, whose prices apply unless its answer names another one. */

import { joinTiers } from '../../core/tier-names.ts';
import { upstreamProtocolOf } from '../../protocols/index.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';

/** Service tier that the body asks for. */
export function tierOfBody({ protocol, body }: Pick<InferenceCall, 'protocol' | 'body'>): string | undefined {
  return protocol.operations.complete.tierOf?.(body);
}

/** Service tier that the options for the provider ask for. */
export function tierOfOptions({ options, dialect }: Pick<Endpoint, 'options' | 'dialect'>): string | undefined {
  return options && upstreamProtocolOf(dialect.protocol).operations.complete.tierOf?.(options);
}

/** Tier that the body and the options for the provider ask for together. */
export function askedTier(call: InferenceCall, endpoint: Endpoint): string | undefined {
  return joinTiers(tierOfBody(call), tierOfOptions(endpoint));
}
