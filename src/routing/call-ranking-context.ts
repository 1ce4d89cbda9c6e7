/** Ranking context of a call: the state of its endpoints and of its conversation, worked out when it is read. */

import type { EndpointCandidate } from './candidates.ts';
import type { ConversationKey } from './conversation-key.ts';
import type { RankingContext } from './ranking.ts';
import { type RoutingState, statisticsKey } from './state.ts';

export type RankingState = Pick<RoutingState, 'breaker' | 'statistics' | 'bindings'>;

/** Facts of a call that are known before its candidates are ranked. */
export interface RankedCall {
  stream: boolean;
  candidates: readonly EndpointCandidate[];
  conversation: ConversationKey;
}

/** A class, because a literal with accessors costs a hidden class for each call, which refers to the call. */
export class CallRankingContext implements RankingContext {
  readonly #call: RankedCall;
  readonly #state: RankingState;

  constructor(call: RankedCall, state: RankingState) {
    this.#call = call;
    this.#state = state;
  }

  get breaker(): RankingContext['breaker'] {
    const { candidates } = this.#call;
    const { breaker } = this.#state;
    return {
      cooldown(id) {
        const milliseconds = candidates.find((candidate) => candidate.id === id)?.endpoint?.credential.cooldown() ?? 0;
        return milliseconds > 0 ? { cause: 'its account was refused', milliseconds } : breaker.cooldown(id);
      },
      failedRecently: breaker.failedRecently,
    };
  }

  get statistics(): RankingContext['statistics'] {
    const { stream } = this.#call;
    const { statistics } = this.#state;
    return {
      isExpected: (id) => statistics.isExpected(statisticsKey(id, stream)),
      latency: (id, percentile) => statistics.latency(statisticsKey(id, stream), percentile),
      throughput: (id, percentile) => statistics.throughput(statisticsKey(id, stream), percentile),
    };
  }

  get conversation(): string {
    return this.#call.conversation.digest;
  }

  /** Id of the endpoint that the conversation is bound to. */
  get holder(): string | undefined {
    return this.#state.bindings.endpointOf(this.#call.conversation.key);
  }
}
