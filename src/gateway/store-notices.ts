/** Notices about the store of a gateway, sent past it: while it cannot be written to, it holds no delivery. */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { NewDelivery } from '../store/delivery-rows.ts';
import { type Notice, noticeDelivery } from '../webhooks/notice.ts';

export interface StoreNoticesOptions {
  url: string;
  /** Returns why nothing can be written; undefined if it can. */
  problem(): Promise<string | undefined>;
  /** Sends at once; whether it was acknowledged. */
  send(notice: NewDelivery): Promise<boolean>;
  /** Sends by way of the store. */
  add(notice: NewDelivery): Promise<void>;
  /** Unix milliseconds. */
  now(): number;
}

/** Consecutive checks that find a fault before there is a notice. */
const CHECKS_BEFORE_NOTICE = 2;

export function createStoreNotices({ url, problem, send, add, now }: StoreNoticesOptions): () => Promise<void> {
  let fault: { id: string; since: number; checks: number; isTold: boolean } | undefined;

  const noticeOf = (event: Notice['event'], { id, since }: { id: string; since: number }, details: object) =>
    noticeDelivery({
      event,
      subject: id,
      url,
      createdAt: now(),
      data: { host: hostname(), since: new Date(since).toISOString(), ...details },
    });

  return async () => {
    const found = await problem();
    if (found === undefined) {
      if (fault?.isTold) await add(noticeOf('store.recovered', fault, {}));
      fault = undefined;
      return;
    }
    fault ??= { id: randomUUID(), since: now(), checks: 0, isTold: false };
    fault.checks += 1;
    // A notice that is not acknowledged is sent again by the next check.
    if (fault.checks >= CHECKS_BEFORE_NOTICE && !fault.isTold)
      fault.isTold = await send(noticeOf('store.failing', fault, { problem: found }));
  };
}
