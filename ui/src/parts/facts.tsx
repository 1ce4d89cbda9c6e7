/** Names with their values, one below the other. */

import type { ReactNode } from 'react';

export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[fit-content(45%)_minmax(0,1fr)] content-start gap-x-6 gap-y-1">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="min-w-34 text-dim wrap-anywhere">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
