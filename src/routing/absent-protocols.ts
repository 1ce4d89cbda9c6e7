/** Absent protocols: those that a server turned out not to serve, although its type may. They are left alone for an hour. */

const ABSENCE_MS = 60 * 60 * 1000;

export interface AbsentProtocols {
  /** Notes an answer of the provider in the protocol. */
  answered(provider: string, protocol: string): void;
  /** Excludes a protocol at a provider for an hour, unless there was an answer in it within the last hour: then the request is at fault. */
  mark(provider: string, protocol: string): void;
  /** Whether the protocol was marked at the provider within the last hour. */
  has(provider: string, protocol: string): boolean;
}

export function createAbsentProtocols(now: () => number): AbsentProtocols {
  /** By provider and protocol: when it may be tried again. */
  const until = new Map<string, number>();
  /** By provider and protocol: time of the last answer. */
  const lastAnswer = new Map<string, number>();

  return {
    answered(provider, protocol) {
      lastAnswer.set(`${provider} ${protocol}`, now());
    },
    mark(provider, protocol) {
      const key = `${provider} ${protocol}`;
      const answeredAt = lastAnswer.get(key);
      if (answeredAt === undefined || now() - answeredAt > ABSENCE_MS) until.set(key, now() + ABSENCE_MS);
    },
    has(provider, protocol) {
      if (until.size === 0) return false;
      return (until.get(`${provider} ${protocol}`) ?? 0) > now();
    },
  };
}
