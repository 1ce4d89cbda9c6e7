/** Routing trace: the decision and the attempts of a call, encoded for a response header without keys or addresses. */

import type { Attempt } from './attempt.ts';
import { endpointName, totalPrice } from './candidate.ts';
import type { EndpointCandidate } from './candidates.ts';
import type { RoutingDecision } from './decision.ts';

export interface TracedCandidate {
  endpoint: string;
  model: string;
  credential?: number;
  /** USD for a million input and a million output tokens. */
  price?: number;
  /** Reason for its exclusion; absent if it is tried. */
  left_out?: string;
}

export interface RoutingTrace {
  requested: string;
  model: string;
  policy: object;
  /** Ranked candidates first, then the excluded ones. */
  candidates: TracedCandidate[];
  attempts: Attempt[];
  /** Number of candidates omitted for length. */
  omitted?: number;
}

export function traceOf(
  { requested, model, policy, candidates, excluded }: RoutingDecision,
  attempts: readonly Attempt[],
): RoutingTrace {
  // A ranked candidate that turned out to be unable is excluded as well; the last of several reasons counts.
  const leftOut = new Map(excluded.map(({ candidate, reason }) => [candidate.id, { candidate, reason }]));
  return {
    requested,
    model,
    policy: { ...policy, options: Object.keys(policy.options), fallbackModels: policy.fallbackModels ?? [] },
    candidates: [
      ...candidates.filter(({ id }) => !leftOut.has(id)).map((candidate) => traceCandidate(candidate)),
      ...[...leftOut.values()].map(({ candidate, reason }) => traceCandidate(candidate, reason)),
    ],
    attempts: attempts.map(({ connected: _connected, cooldownMs: _cooldownMs, headers: _headers, ...attempt }) => ({
      ...attempt,
      milliseconds: Math.round(attempt.milliseconds),
    })),
  };
}

function traceCandidate(candidate: EndpointCandidate, reason?: string): TracedCandidate {
  const { model, credential } = candidate;
  return { endpoint: endpointName(candidate), model, credential, price: totalPrice(candidate), left_out: reason };
}

/** Many clients refuse longer headers. */
const MAX_TRACE_CHARACTERS = 6000;

/** One line of ASCII. Omits the last candidates, then the policy, if it is too long. */
export function encodeTrace(trace: RoutingTrace): string {
  for (let count = trace.candidates.length; count >= 0; count = count === 0 ? -1 : Math.floor(count / 2)) {
    const omitted = trace.candidates.length - count;
    const text = asciiJson({
      ...trace,
      candidates: trace.candidates.slice(0, count),
      ...(omitted > 0 && { omitted }),
    });
    if (text.length <= MAX_TRACE_CHARACTERS) return text;
  }
  const { model, attempts } = trace;
  const names = attempts.map(({ endpoint, status, error }) => ({ endpoint: endpoint.slice(0, 200), status, error }));
  return asciiJson({ model: model.slice(0, 200), attempts: names.slice(0, 8), omitted: trace.candidates.length });
}

function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
