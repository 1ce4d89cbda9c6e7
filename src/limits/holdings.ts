/** A limit on what is under way: requests at once, or money that answers on their way may still cost. */

import { smallest } from '../core/money.ts';
import type { Holding, Quota } from './quota.ts';

export interface HoldingsOptions {
  holding: Holding;
  quota: Quota;
  /** What is asked for beyond the need of the moment, so that the next one needs no question. */
  slice: bigint;
}

export interface Holdings {
  /** Reserves; undefined, with nothing reserved, where the limit leaves too little. */
  admit(amount: bigint): Promise<Reservation | undefined>;
  /** What may still be reserved here, as far as is known. */
  readonly left: bigint;
  /** Gives back what nobody has asked for since the last time. */
  rest(): Promise<void>;
}

export interface Reservation {
  /** Ends it; `spent` is gone for good. */
  settle(spent: bigint): void;
}

export function createHoldings({ holding, quota, slice }: HoldingsOptions): Holdings {
  let granted = 0n;
  let reserved = 0n;
  /** What the store had left beyond what is held here. */
  let beyond = holding.limit;
  let asking: Promise<void> | undefined;
  let busy = false;

  async function ask(want: bigint): Promise<void> {
    const part = await quota.hold(holding, want);
    granted = part.granted;
    beyond = holding.limit - part.spent - part.others - part.granted;
  }

  async function askInTurn(isNeeded: () => boolean, want: () => bigint): Promise<void> {
    while (asking) await asking.catch(() => {});
    if (!isNeeded()) return;
    asking = ask(smallest(want(), holding.limit)).finally(() => {
      asking = undefined;
    });
    await asking;
  }

  return {
    async admit(amount) {
      busy = true;
      const lacks = () => reserved + amount > granted;
      if (lacks()) await askInTurn(lacks, () => reserved + amount + slice);
      if (lacks()) return undefined;
      reserved += amount;
      let over = false;
      return {
        settle(spent) {
          if (over) return;
          over = true;
          reserved -= amount;
          granted -= spent;
        },
      };
    },
    get left() {
      return granted - reserved + beyond;
    },
    async rest() {
      const idle = !busy;
      busy = false;
      if (idle && granted > reserved)
        await askInTurn(
          () => granted > reserved,
          () => reserved,
        );
    },
  };
}
