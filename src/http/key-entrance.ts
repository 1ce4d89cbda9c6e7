/** Entrance of an authenticated key to a route: its slot among concurrent requests, and the capture that its session asks for. */

import type { AdmissionControl } from '../accounting/admission.ts';
import type { Key } from '../keys/store.ts';
import type { Captures } from './captures.ts';
import type { RequestContext } from './request-context.ts';
import type { Route } from './route-table.ts';

export interface KeyEntranceOptions {
  admission: Pick<AdmissionControl, 'enter' | 'rateLimitHeaders'>;
  /** Store of captures; undefined where captures are disabled. */
  captures: Captures | undefined;
}

/** Notes the key and takes a slot where the route is limited. Returns the owner of the body. */
export type EnterKey = (
  context: RequestContext,
  route: Pick<Route, 'operation' | 'limited'> | undefined,
  key: Key,
) => Promise<string> | string;

export function createKeyEntrance({ admission, captures }: KeyEntranceOptions): EnterKey {
  return (context, route, key) => {
    const { headers, hold, observation } = context;
    context.key = key;
    observation.key = key.id;
    if (route?.operation) {
      headers.setAttempts(0);
      if (context.session) context.capture = captures?.begin(context);
    }
    if (!route?.limited) return key.id;
    headers.setRateLimit(() => admission.rateLimitHeaders(key));
    const slot = admission.enter(key);
    if (slot instanceof Promise) {
      return slot.then((release) => {
        hold.keep(release);
        return key.id;
      });
    }
    hold.keep(slot);
    return key.id;
  };
}
