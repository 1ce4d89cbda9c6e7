/** Account pin: the account of a provider that keeps the responses or files that a request refers to. */

import type { GatewayError } from '../core/errors.ts';
import type { Endpoint } from './endpoint.ts';

export interface AccountPin {
  provider: string;
  /** Id of the credential. */
  credential: string;
  /** The error if the account cannot serve the request. */
  error: GatewayError;
}

interface PinnedCandidate {
  endpoint?: Endpoint;
  unusable?: string;
}

/** Excludes all other accounts. Throws the error of the pin if none is left. */
export function excludeUnpinned<Any extends PinnedCandidate>(
  candidates: readonly Any[],
  { provider, credential, error }: AccountPin,
): readonly Any[] {
  const isPinned = ({ endpoint }: Any): boolean =>
    endpoint?.provider.id === provider && endpoint.credential.id === credential;
  if (!candidates.some((candidate) => candidate.unusable === undefined && isPinned(candidate))) throw error;
  const unusable = 'what the request refers to is kept by another account';
  return candidates.map((candidate) => (isPinned(candidate) ? candidate : { ...candidate, unusable }));
}
