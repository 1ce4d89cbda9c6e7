/** Parameters in the address of the list of webhooks. */

import { oneOf, type Search, text, truth } from '../../search-values.ts';
import { type TimeSearch, timeOf } from '../../times.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted'] as const;

export const OUTCOMES = ['ack', 'http_status', 'timeout', 'dns', 'connect', 'tls', 'protocol', 'blocked'] as const;

/** Parts of what was sent, of the webhook that is opened. */
export const SENT_TABS = ['body', 'headers', 'signature'] as const;

export interface DeliveryFilters {
  /** Outcome of its last attempt. */
  outcome?: (typeof OUTCOMES)[number];
  state?: (typeof DELIVERY_STATES)[number];
  host?: string;
  key?: string;
  search?: string | undefined;
  /** ISO times between which they were created. */
  from?: string | undefined;
  to?: string | undefined;
}

export interface WebhooksSearch extends Omit<DeliveryFilters, 'search'>, TimeSearch {
  find?: string;
  open?: string;
  /** Part that is shown of the one that is opened. */
  tab?: (typeof SENT_TABS)[number];
  /** Whether the form that checks a signature is open. */
  check?: true;
  receivers?: 'all';
}

export function webhooksSearch(search: Search): WebhooksSearch {
  return {
    ...timeOf(search),
    find: text(search.find),
    state: oneOf(DELIVERY_STATES, search.state),
    host: text(search.host),
    outcome: oneOf(OUTCOMES, search.outcome),
    key: text(search.key),
    open: text(search.open),
    tab: oneOf(SENT_TABS, search.tab),
    check: truth(search.check),
    receivers: oneOf(['all'], search.receivers),
  };
}
