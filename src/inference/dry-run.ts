/** Dry run: the request an endpoint would receive, without network access. */

import { Cancellation } from '../core/cancellation.ts';
import { toGatewayError } from '../core/errors.ts';
import { requireWebSearch } from '../core/web-search.ts';
import type { RequestPath } from '../routing/attempt.ts';
import type { RunnableCandidate } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { RoutingPolicy } from '../routing/policy.ts';
import { refusalOfLoss } from './candidate-plan.ts';
import { plan } from './request/plan.ts';
import { createStateMemory } from './state/memory.ts';

/** The plan of a request for an endpoint, or the reason it cannot be sent. */
export interface DryPlan {
  path?: RequestPath;
  /** Fields that would be dropped. */
  dropped?: string[];
  unable?: string;
}

/** Plans a request without sending it; a failure becomes `unable` and is not thrown. */
export async function dryPlan(
  call: InferenceCall,
  candidate: RunnableCandidate,
  { policy, refusesUnsupportedSearch }: { policy: RoutingPolicy; refusesUnsupportedSearch: boolean },
): Promise<DryPlan> {
  try {
    const planned = await plan(call, candidate.endpoint, {
      prepare: async (request) => {
        if (refusesUnsupportedSearch) requireWebSearch(request);
      },
      memory: createStateMemory(),
      client: new Cancellation(),
    });
    const loss = policy.requireParameters ? refusalOfLoss(planned, candidate) : undefined;
    return loss ? { unable: loss.message } : { path: planned.path, dropped: planned.dropped };
  } catch (error) {
    return { unable: toGatewayError(error).message };
  }
}
