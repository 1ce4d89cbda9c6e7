/** State of a provider, for operators. */

export interface ProviderState {
  id: string;
  /** `unreachable`: it did not say which models it has. */
  state: 'ready' | 'waiting' | 'unreachable';
  /** Number of known models. */
  models: number;
  /** Environment variables, any of which enables it. */
  waitingFor?: string[];
  /** Reason for which it has no credentials, or the discovery of its models failed. */
  problem?: string;
  /** Source of its credentials, if it has an identity. */
  credentials?: string;
}
