/** Finished items of a relayed stream that is stored: some servers end it with none, or with other ids. */

import type { Json } from '../../core/json/json.ts';
import type { FinishedItem, StoredAccess } from '../../core/stored-access.ts';

export interface FinishedItems {
  readonly list: readonly FinishedItem[];
  /** Memory of the list. */
  readonly bytes: number;
  /** Takes the item of a frame, if it holds one. */
  add(frame: Json, bytes: number): void;
}

export function createFinishedItems({ itemIn }: StoredAccess): FinishedItems {
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
