/** A budget of bytes that everything of one kind shares, such as all answers that are under way. */

export interface ByteBudget {
  /** A share that holds nothing yet. */
  open(): ByteShare;
  /** Bytes held by all shares. */
  readonly held: number;
}

export interface ByteShare {
  /** Makes the share hold so many bytes in all; false, and no change, where the budget does not allow it. */
  resize(bytes: number): boolean;
  /** Gives everything back; later calls change nothing. */
  close(): void;
}

export function createByteBudget(limitBytes: number): ByteBudget {
  let held = 0;
  return {
    open() {
      let own = 0;
      let closed = false;
      return {
        resize(bytes) {
          if (closed) return true;
          if (bytes > own && held + bytes - own > limitBytes) return false;
          held += bytes - own;
          own = bytes;
          return true;
        },
        close() {
          held -= own;
          own = 0;
          closed = true;
        },
      };
    },
    get held() {
      return held;
    },
  };
}
