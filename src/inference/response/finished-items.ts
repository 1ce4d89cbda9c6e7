/** Finished items of a relayed stream that is stored: some servers end it with none, or with other ids. */

import type { Json } from '../../core/json/json.ts';
import type { FinishedItem, StoredAccess } from '../../core/stored-access.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { Plan } from '../request/planned-request.ts';

export interface FinishedItems {
  readonly list: readonly FinishedItem[];
  /** Memory of the list. */
  readonly bytes: number;
  /** Takes the item of a frame, if it holds one. */
  add(frame: Json, bytes: number): void;
}

function createFinishedItems({ itemIn }: StoredAccess): FinishedItems {
  const list: FinishedItem[] = [];
  let held = 0;
  return {
    list,
    get bytes() {
      return held;
    },
    add(frame, bytes) {
      const found = itemIn(frame);
      if (!found) return;
      list.push(found);
      held += bytes;
    },
  };
}

/** Returns a collector if the answer is relayed and stored. */
export function finishedItemsOf({ keeper, protocol }: InferenceCall, path: Plan['path']): FinishedItems | undefined {
  const { stored } = protocol.operations.complete;
  return keeper && stored && path !== 'translated' ? createFinishedItems(stored) : undefined;
}
