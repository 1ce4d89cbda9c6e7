/** Opens the account of a call: what it may use is reserved of its key's limits, and nothing begins that cannot be recorded. */

import { costOf } from '../catalog/cost.ts';
import { GatewayError } from '../core/errors.ts';
import { largest } from '../core/money.ts';
import type { Call } from '../inference/call.ts';
import { type Expectation, expectationOf } from '../inference/expectation.ts';
import type { Route } from '../inference/route.ts';
import type { Key } from '../keys/store.ts';
import type { LimitKeeper } from '../limits/limits.ts';
import { type Account, openAccount } from '../usage/account.ts';
import type { Recorder } from '../usage/recorder.ts';

export interface AccountsOptions {
  recorder: Recorder;
  limits: LimitKeeper;
  /** Unix milliseconds. */
  now(): number;
}

export interface OpenedAccount {
  account: Account;
  /** `x-ratelimit-*`. */
  headers: Record<string, string>;
  /** Gives back what is still reserved. */
  discard(): void;
}

export interface Accounts {
  /** What a key's limits leave, as headers. */
  standing(key: Key, model?: string): Record<string, string>;
  /** Throws `rate_limit_exceeded`, `insufficient_quota`, and `unavailable` while records cannot be written. */
  open(call: Call, key: Key, route: Route): Promise<OpenedAccount>;
}

/** Milliseconds after which the store may be back. */
const RECORDER_PAUSE = 1000;
/** Tokens of an answer whose length the client leaves to the model. */
const USUAL_OUTPUT = 4096;

export function createAccounts({ recorder, limits, now }: AccountsOptions): Accounts {
  return {
    standing: (key, model = '') => limits.standing(key, model),

    async open(call, key, route) {
      if (!recorder.ready) {
        const message = 'The gateway cannot write down what requests use; try again in a moment.';
        throw new GatewayError('unavailable', message, { retryAfter: RECORDER_PAUSE });
      }
      const free = call.action === 'count';
      const expect = once(() => expectationOf(call));
      const { headers, settle } = await limits.admit({
        ...{ key, model: route.model },
        get tokens() {
          return free ? 0 : expect().input + mostOutput(expect(), route);
        },
        get cost() {
          return free ? 0n : mostCost(expect(), route);
        },
      });
      const request = {
        ...{ id: call.requestId, startedAt: now(), keyId: key.id, model: route.requested },
        ...{ protocolIn: call.protocol.id, stream: call.stream },
      };
      const account = openAccount({ recorder, request, free, estimate: () => expect().input, settle });
      return { account, headers, discard: () => settle({ tokens: 0, cost: 0n }) };
    },
  };
}

function mostOutput({ output }: Expectation, { places }: Route): number {
  const longest = Math.max(0, ...places.map(({ endpoint }) => endpoint.model.maxOutput));
  return output ?? Math.min(longest || USUAL_OUTPUT, USUAL_OUTPUT);
}

/** At the dearest of the endpoints that may answer. */
function mostCost(expected: Expectation, route: Route): bigint {
  const usage = { input: expected.input, output: mostOutput(expected, route) };
  return largest(0n, ...route.places.map(({ endpoint }) => costOf(endpoint.model, usage)));
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
