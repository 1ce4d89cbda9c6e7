/** Groups of dead gateways that the store refuses to fold at once. */

import { systemClock } from '../core/clock.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { GroupFold } from '../store/usage-groups.ts';
import { createFlushWriter, type FlushWriterOptions } from './flush-writer.ts';

/** Groups that are folded at once. */
const GROUPS_AT_ONCE = 100;

/** Folds them without the records that the store refuses, which are set aside. Requests that did not end become intents of the dead gateway. */
export async function foldOrphanedGroups(
  { store, log }: Pick<FlushWriterOptions, 'store' | 'log'>,
  now: number,
): Promise<void> {
  const closing = new AbortController();
  const onDelay = () => closing.abort();
  const writer = createFlushWriter({ store, log, clock: systemClock, closing: closing.signal, onDelay });
  for (let earlier: string | undefined; ; ) {
    const groups = await store.call('orphanedGroups', { now, limit: GROUPS_AT_ONCE });
    const [first, last] = [groups[0], groups.at(-1)];
    if (!first || !last) return;
    const { instance } = first;
    // They could not be removed, and are tried again later.
    if (earlier === `${instance} ${first.number}`) return;
    earlier = `${instance} ${first.number}`;
    const fold = new GroupFold(instance);
    for (const { records } of groups) fold.add(records);
    const { finished, withdrawn } = fold;
    const folded = { instance, after: first.number - 1, to: last.number };
    await writer.write({ begun: fold.intents(), finished, withdrawn }, { folded });
    if (writer.failing) throw new StoreUnavailable('usage records cannot be written');
  }
}
