/** Absent protocols: those that a server turned out not to serve, although its type may. They are left alone for an hour. */

const ABSENCE_MS = 60 * 60 * 1000;

export interface AbsentProtocols {
  /** Excludes a protocol at a provider for an hour. */
  mark(provider: string, protocol: string): void;
  /** Whether the protocol was marked at the provider within the last hour. */
  has(provider: string, protocol: string): boolean;
}

export function createAbsentProtocols(now: () => number): AbsentProtocols {
  /** By provider and protocol: when it may be tried again. */
  const until = new Map<string, number>();

  return {
    mark(provider, protocol) {
      until.set(`${provider} ${protocol}`, now() + ABSENCE_MS);
    },
    has(provider, protocol) {
      if (until.size === 0) return false;
      return (until.get(`${provider} ${protocol}`) ?? 0) > now();
    },
  };
}
