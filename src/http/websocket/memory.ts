/** Memory of WebSockets: conversations that go on without being sent again, within one budget for all connections. */

import type { SocketMemory } from '../../core/socket.ts';

/** Streams that one connection remembers. */
const MAX_STREAMS = 32;

interface Kept {
  owner: string;
  bytes: Buffer;
  forget(): void;
}

/** Memory of conversations. For want of room, the owner that holds most forgets its oldest conversations first. */
export class ConversationMemory {
  readonly #limit: number;
  readonly #heldBy = new Map<string, { bytes: number; kept: Set<Kept> }>();
  #bytes = 0;

  /** `limit` in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that are remembered for all connections. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The memory of a connection, and the function that forgets all of it. */
  open(owner: string): SocketMemory & { close(): void } {
    const streams = new Map<string, { id: string; kept: Kept }>();

    const find = (id: string): [stream: string, known: { kept: Kept }] | undefined =>
      [...streams].find(([, known]) => known.id === id);

    const forgetStream = (stream: string): void => {
      const known = streams.get(stream);
      if (!known) return;
      streams.delete(stream);
      this.#remove(known.kept);
    };

    return {
      read: (id) => find(id)?.[1].kept.bytes,
      keep: (id, stream, bytes) => {
        forgetStream(stream);
        if (bytes.length > this.#limit) return;
        const [oldest] = streams.keys();
        if (streams.size >= MAX_STREAMS && oldest !== undefined) forgetStream(oldest);
        const kept = { owner, bytes, forget: () => forgetStream(stream) };
        streams.set(stream, { id, kept });
        this.#add(kept);
      },
      forget(id) {
        const [stream] = find(id) ?? [];
        if (stream !== undefined) forgetStream(stream);
      },
      close() {
        for (const stream of [...streams.keys()]) forgetStream(stream);
      },
    };
  }

  #add(kept: Kept): void {
    const held = this.#heldBy.get(kept.owner) ?? { bytes: 0, kept: new Set() };
    this.#heldBy.set(kept.owner, held);
    held.bytes += kept.bytes.length;
    held.kept.add(kept);
    this.#bytes += kept.bytes.length;
    while (this.#bytes > this.#limit) this.#forgetOldest(kept);
  }

  #remove(kept: Kept): void {
    const held = this.#heldBy.get(kept.owner);
    if (!held?.kept.delete(kept)) return;
    held.bytes -= kept.bytes.length;
    this.#bytes -= kept.bytes.length;
    if (held.kept.size === 0) this.#heldBy.delete(kept.owner);
  }

  /** Forgets the oldest entry of the owner with the most bytes; `newest` only if no other entry is left. */
  #forgetOldest(newest: Kept): void {
    const owners = [...this.#heldBy.values()].sort((one, other) => other.bytes - one.bytes);
    for (const { kept } of owners) {
      for (const oldest of kept) {
        if (oldest === newest) continue;
        oldest.forget();
        return;
      }
    }
    newest.forget();
  }
}
