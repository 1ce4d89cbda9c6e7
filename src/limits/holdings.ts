/** A limit on what is under way: requests at once, or money that answers on their way may still cost. */

import { smallest } from '../core/money.ts';
import type { Holding, Quota } from './quota.ts';
import { createWaitingLine } from './waiting-line.ts';

export interface HoldingsOptions {
  holding: Holding;
  quota: Quota;
  /** What is asked for beyond the need of the moment, so that the next one needs no question. */
  slice: bigint;
}

export interface Holdings {
  /** Reserves; undefined, with nothing reserved, where the limit leaves too little. */
  admit(amount: bigint): Promise<HeldAmount | undefined>;
  /** What may still be reserved here, as far as is known. */
  readonly left: bigint;
  /** Gives back what nobody has asked for since the last time. */
  releaseIdle(): Promise<void>;
}

export interface HeldAmount {
  /** Ends it; `spent` is gone for good. */
  settle(spent: bigint): void;
}

export function createHoldings({ holding, quota, slice }: HoldingsOptions): Holdings {
  let granted = 0n;
  let reserved = 0n;
  /** What the store had left beyond what is held here. */
  let beyond = holding.limit;
  /** What was spent since the last question was asked: nobody knows whether its answer counts it already. */
  let spentSince = 0n;
  let busy = false;

  async function ask(want: bigint): Promise<void> {
    spentSince = 0n;
    const part = await quota.hold(holding, smallest(want, holding.limit));
    granted = part.granted - spentSince;
    beyond = holding.limit - part.spent - part.others - part.granted;
  }

  const line = createWaitingLine<bigint>({
    take(amount) {
      if (reserved + amount > granted) return false;
      reserved += amount;
      return true;
    },
    async ask(amounts) {
      await ask(amounts.reduce((sum, amount) => sum + amount, reserved + slice));
      return spentSince > 0n;
    },
  });

  return {
    async admit(amount) {
      busy = true;
      if (!(await line.enter(amount))) return undefined;
      let over = false;
      return {
        settle(spent) {
          if (over) return;
          over = true;
          reserved -= amount;
          granted -= spent;
          spentSince += spent;
        },
      };
    },
    get left() {
      return granted - reserved + beyond;
    },
    async releaseIdle() {
      const idle = !busy;
      busy = false;
      if (idle && granted > reserved) await line.whenIdle(() => ask(reserved));
    },
  };
}
