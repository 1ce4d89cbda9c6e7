/** The whole decision about a call as text that fits a header: no keys, no addresses. */

import type { Attempt } from './attempt.ts';
import { endpointName, totalPrice } from './candidate.ts';
import type { EndpointCandidate } from './candidates.ts';
import type { RoutingDecision } from './decision.ts';

export interface TracedCandidate {
  endpoint: string;
  model: string;
  credential?: number;
  /** USD for a million tokens each way. */
  price?: number;
  /** Why it is not tried; absent when it is. */
  left_out?: string;
}

export interface RoutingTrace {
  requested: string;
  model: string;
  policy: object;
  /** Those that are tried first, in their order. */
  candidates: TracedCandidate[];
  attempts: Attempt[];
  /** Candidates that were too many to be named here. */
  omitted?: number;
}

export function traceOf(
  { requested, model, policy, candidates, excluded }: RoutingDecision,
  attempts: readonly Attempt[],
): RoutingTrace {
  return {
    requested,
    model,
    policy: { ...policy, options: Object.keys(policy.options) },
    candidates: [
      ...candidates.map((candidate) => traceCandidate(candidate)),
      ...excluded.map(({ candidate, reason }) => traceCandidate(candidate, reason)),
    ],
    attempts: attempts.map((attempt) => ({ ...attempt, milliseconds: Math.round(attempt.milliseconds) })),
  };
}

function traceCandidate(candidate: EndpointCandidate, reason?: string): TracedCandidate {
  const { model, credential } = candidate;
  return { endpoint: endpointName(candidate), model, credential, price: totalPrice(candidate), left_out: reason };
}

/** Clients give up on answers whose headers are too long. */
const MAX_TRACE_CHARACTERS = 6000;

/** One line of ASCII. The last candidates are left out where they are too many, and then the policy. */
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
