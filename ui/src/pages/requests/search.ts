/** Parameters in the address of the list of requests. */

import { number, oneOf, type Search, text, truth } from '../../search-values.ts';
import { momentIn, type TimeSearch, timeOf } from '../../times.ts';
import type { Filters } from './query.ts';

export interface RequestsSearch extends Filters, TimeSearch {
  view?: 'requests' | 'sessions';
  open?: string;
  paused?: boolean;
}

export function requestsSearch(search: Search): RequestsSearch {
  return {
    ...timeOf(search),
    started_from: momentIn(search.started_from),
    started_to: momentIn(search.started_to),
    key: text(search.key),
    model: text(search.model),
    provider: text(search.provider),
    protocol: text(search.protocol),
    upstream_protocol: text(search.upstream_protocol),
    status: text(search.status),
    requested: text(search.requested),
    code: text(search.code),
    tag: text(search.tag),
    without_tag: text(search.without_tag),
    session: text(search.session),
    cost_above: search.cost_above === undefined ? undefined : String(search.cost_above),
    slower_than: number(search.slower_than),
    dropped: truth(search.dropped),
    fell_back: truth(search.fell_back),
    estimated: truth(search.estimated),
    open: text(search.open),
    paused: truth(search.paused),
    view: oneOf(['requests', 'sessions'], search.view),
  };
}
