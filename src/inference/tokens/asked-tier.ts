/** Service tier that a request asks for, whose prices apply unless its answer names another one, and the size of its containers. */

import type { Json } from '../../core/json/json.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import { joinTiers } from '../../core/tier-names.ts';
import { upstreamProtocolOf } from '../../protocols/index.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { AskedPrices } from '../../usage/meter.ts';

/** What the body asks for. */
export function askedByBody({ protocol, body }: Pick<InferenceCall, 'protocol' | 'body'>): AskedPrices {
  return askedBy(protocol.operations.complete, body);
}

/** What the options for the provider ask for. */
export function askedByOptions({ options, dialect }: Pick<Endpoint, 'options' | 'dialect'>): AskedPrices {
  return options ? askedBy(upstreamProtocolOf(dialect.protocol).operations.complete, options) : NOTHING;
}

const NOTHING: AskedPrices = {};

function askedBy(complete: AskedOperation, body: Json): AskedPrices {
  const containerSize = complete.containerSizeOf?.(body);
  // The sum bounds only what is larger than the default.
  const containerSum = (containerSize ?? 0) > 1 ? complete.providerTools?.(body).containers : undefined;
  return { tier: complete.tierOf?.(body), containerSize, containerSum };
}

type AskedOperation = Pick<CompleteOperation, 'tierOf' | 'containerSizeOf' | 'providerTools'>;

/** Tier that the body and the options for the provider ask for together. */
export function askedTier({ protocol, body }: InferenceCall, { options, dialect }: Endpoint): string | undefined {
  const own = protocol.operations.complete.tierOf?.(body);
  return joinTiers(own, options && upstreamProtocolOf(dialect.protocol).operations.complete.tierOf?.(options));
}
