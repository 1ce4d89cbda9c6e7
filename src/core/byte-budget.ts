/** Byte budget shared by all buffers of one kind, e.g. all responses in flight, fairly between their owners. */

import { noteDroppedBuffer } from './collection.ts';

export interface ByteBudget {
  /** Opens an empty share for an owner, e.g. a key. */
  open(owner: string): ByteShare;
  /** Bytes held by all shares. */
  readonly held: number;
}

export interface ByteShare {
  /** Sets the size of the share; false, with no change, if the budget is exceeded. */
  resize(bytes: number): boolean;
  /** Releases the share; later calls have no effect. */
  close(): void;
}

/** Owners of nothing that are kept, since an entry that comes and goes costs more than one that stays. */
const MAX_KEPT_OWNERS = 1000;

/** An owner may hold as much as was free before its last share: one alone gets about half of the budget, two a third each. */
export function createByteBudget(limitBytes: number): ByteBudget {
  const heldBy = new Map<string, number>();
  let held = 0;

  function change(owner: string, bytes: number): void {
    held += bytes;
    const own = (heldBy.get(owner) ?? 0) + bytes;
    if (own === 0 && heldBy.size > MAX_KEPT_OWNERS) heldBy.delete(owner);
    else heldBy.set(owner, own);
  }

  return {
    open(owner) {
      let size = 0;
      let closed = false;
      return {
        resize(bytes) {
          if (closed || bytes === size) return true;
          const own = (heldBy.get(owner) ?? 0) - size + bytes;
          if (bytes > size && own > limitBytes - (held - size)) return false;
          change(owner, bytes - size);
          size = bytes;
          return true;
        },
        close() {
          if (closed) return;
          closed = true;
          change(owner, -size);
          noteDroppedBuffer(size, held);
        },
      };
    },
    get held() {
      return held;
    },
  };
}
