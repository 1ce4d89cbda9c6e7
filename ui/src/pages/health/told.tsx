/** Report of one gateway about an endpoint, and links of the panels. */

import { Link } from '@tanstack/react-router';
import { formatCount } from '../../parts/numbers.tsx';
import { numbers } from '../../parts/table.tsx';
import { wordOf } from './endpoints.tsx';
import type { Counts, Endpoint } from './query.ts';
import { successOf } from './strip.tsx';

export const LINK = 'inline-block min-h-[24px] content-center text-accent underline-offset-4 hover:underline';

/** Behind the name of the endpoint, or that of the gateway. */
export const TOLD_COLUMNS = ['State', ...['5 minutes', '24 hours'].map(numbers)];

export function ToldCells({ told }: { told: Endpoint['gateways'][number] }) {
  return (
    <>
      <td>
        {wordOf(told)}
        {told.cause && <span className="text-dim"> {told.cause}</span>}
      </td>
      <td className="number">{shareOf(told.last_5_minutes)}</td>
      <td className="number">{shareOf(told.last_day)}</td>
    </>
  );
}

const shareOf = (counts: Counts) =>
  counts.attempts === 0 ? 'none' : `${successOf(counts)} of ${formatCount(counts.attempts)}`;

/** Leads to the panel of a gateway that runs. */
export function GatewayLink({ id, children = id }: { id: string; children?: string }) {
  return (
    <Link to="/health" search={{ gateway: id }} title={id} className={`${LINK} break-all font-mono`}>
      {children}
    </Link>
  );
}
