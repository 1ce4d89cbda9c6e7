/** Part of a panel, under its heading. */

import type { ReactNode } from 'react';

export function Section({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-1.5">
        {title} {note && <span className="font-normal text-dim">{note}</span>}
      </h2>
      {children}
    </section>
  );
}
