/** Reader of the reservations of running requests of other gateways, as of their last heartbeat. */

import { decodeReservations, type Reservations } from '../records/reservations.ts';
import type { Store } from '../store/store.ts';

export interface ReservationReaderOptions {
  store: Pick<Store, 'call' | 'now'>;
  /** Instance whose reservations are left out: this gateway. Absent in a command beside running gateways. */
  instance?: string;
}

/** Questions of the same moment share an answer. */
export function createReservationReader({
  store,
  instance = '',
}: ReservationReaderOptions): () => Promise<Reservations> {
  let running: Promise<Reservations> | undefined;
  return () => {
    running ??= store
      .call('reservationsOfOthers', { except: instance, now: store.now() })
      .then(decodeReservations)
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}
