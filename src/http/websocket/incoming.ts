/** Incoming messages: memory and rate of the message that is not complete yet. */

import type { Clock } from '../../core/clock.ts';
import { watchRate } from '../body.ts';
import type { BodyBudget, BodyReservation } from '../body-budget.ts';

export interface IncomingOptions {
  budget: BodyBudget;
  /** Owner of the reservations: the key id. */
  owner: string;
  clock: Clock;
  /** There is no memory left for the message. */
  onNoRoom(): void;
  /** The message comes too slowly. */
  onSlow(): void;
}

/** Bytes of a control frame of a client beside its payload: two of the head and four of the mask. */
const CONTROL_FRAME_BYTES = 6;

export class IncomingMessages {
  readonly #options: IncomingOptions;
  /** Bytes of the incomplete message. */
  #received = 0;
  /** Bytes of control frames in the chunk that is being parsed, and whether the chunk completed a message. */
  #controlBytes = 0;
  #completed = false;
  #reservation: BodyReservation | undefined;
  #stopWatch: (() => void) | undefined;
  #isClosed = false;

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** Called for each ping and pong, before `parsed`. */
  controlFrame(payload: Buffer): void {
    this.#controlBytes += payload.length + CONTROL_FRAME_BYTES;
  }

  /** Called for each message, before `parsed`. Returns its memory; undefined where none is left. */
  completed(size: number): BodyReservation | undefined {
    const { budget, owner } = this.#options;
    const reservation = this.#reservation ?? budget.open(owner, 0);
    this.#reservation = undefined;
    this.#completed = true;
    this.#received = 0;
    this.#stopWatch?.();
    this.#stopWatch = undefined;
    if (reservation?.growTo(size)) return reservation;
    reservation?.release();
    return undefined;
  }

  /** Called when received bytes were parsed. What follows a complete message in them is not counted. */
  parsed(bytes: number): void {
    const rest = this.#completed ? 0 : bytes - this.#controlBytes;
    this.#completed = false;
    this.#controlBytes = 0;
    if (rest <= 0 || this.#isClosed) return;
    const { budget, owner, clock, onSlow, onNoRoom } = this.#options;
    this.#received += rest;
    this.#reservation ??= budget.open(owner, 0);
    this.#stopWatch ??= watchRate(clock, () => this.#received, onSlow);
    if (!this.#reservation?.growTo(this.#received)) onNoRoom();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatch?.();
    this.#reservation?.release();
    this.#stopWatch = undefined;
    this.#reservation = undefined;
  }
}
