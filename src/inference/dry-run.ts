/** What a place would be sent, without sending it or fetching anything. */

import { toGatewayError } from '../core/errors.ts';
import type { Policy } from '../routing/policy.ts';
import type { Call } from './call.ts';
import { lossOf } from './dispatch.ts';
import { createStateMemory } from './memory.ts';
import { type Path, plan } from './plan.ts';
import type { ReadyPlace } from './route.ts';

/** How a place takes a request, or why it cannot. */
export interface DryPlan {
  path?: Path;
  /** Fields that it could not be told. */
  dropped?: string[];
  unable?: string;
}

export async function dryPlan(call: Call, place: ReadyPlace, { requireParameters }: Policy): Promise<DryPlan> {
  const { signal } = new AbortController();
  try {
    const planned = await plan(call, place.endpoint, { prepare: async () => {}, memory: createStateMemory(), signal });
    const loss = requireParameters ? lossOf(planned, place) : undefined;
    return loss ? { unable: loss.message } : { path: planned.path, dropped: planned.dropped };
  } catch (error) {
    return { unable: toGatewayError(error).message };
  }
}
