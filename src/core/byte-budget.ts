/** Byte budget shared by all buffers of one kind, e.g. all responses in flight. */

export interface ByteBudget {
  /** Opens an empty share. */
  open(): ByteShare;
  /** Bytes held by all shares. */
  readonly held: number;
}

export interface ByteShare {
  /** Sets the size of the share; false, with no change, if the budget is exceeded. */
  resize(bytes: number): boolean;
  /** Releases the share; later calls have no effect. */
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
