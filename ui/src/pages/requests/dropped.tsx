/** Fields that were dropped; each shows what the page of fidelity says of it. */

import { lazy, Suspense, useState } from 'react';
import type { RequestDetail } from './query.ts';

const Fidelity = lazy(() => import('./fidelity.tsx').then((module) => ({ default: module.Fidelity })));

export function Dropped({ detail: { dropped, protocol, upstream_protocol: upstream } }: { detail: RequestDetail }) {
  const [shown, setShown] = useState<string>();
  if (dropped.length === 0) return null;
  return (
    <section>
      <h2 className="mb-2">
        Dropped, because the {protocol === upstream ? 'model does not take it' : 'other protocol has no place for it'}
      </h2>
      <ul className="flex flex-wrap gap-1.5">
        {dropped.map((field) => (
          <li key={field}>
            <button
              type="button"
              title="What docs/fidelity.md says of it"
              className="min-h-[24px] rounded-md bg-warn-soft px-1.5 py-0.5 font-mono text-xs text-warn underline-offset-4 hover:underline"
              aria-expanded={shown === field}
              onClick={() => setShown(shown === field ? undefined : field)}
            >
              {field}
            </button>
          </li>
        ))}
      </ul>
      {shown !== undefined && (
        <div className="mt-2 rounded-md border p-3">
          <Suspense>
            <Fidelity field={shown} from={protocol} to={upstream} />
          </Suspense>
        </div>
      )}
    </section>
  );
}
