/** Names the sources of a page that did not answer, beside what the others gave. */

import { RotateCw } from 'lucide-react';
import { Spoken } from './announcer.tsx';
import { ClockTime } from './clock-time.tsx';

export interface Source {
  /** In the plural, as the beginning of a sentence: "Prices". */
  name: string;
  asked: {
    data: unknown;
    error: unknown;
    dataUpdatedAt: number;
    isFetching: boolean;
    refetch(): unknown;
  };
}

/** What is shown of such a source is of an earlier time, or missing. */
export function Unanswered({ sources }: { sources: readonly Source[] }) {
  const failed = sources.filter(({ asked }) => asked.error);
  if (failed.length === 0) return null;
  return (
    <Spoken as="div" className="flex flex-col gap-2 rounded-lg bg-warn-soft px-4 py-3">
      {failed.map(({ name, asked: { data, error, dataUpdatedAt, isFetching, refetch } }) => (
        <div key={name} className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 break-words">
            {name} are {data === undefined ? 'missing' : 'those of '}
            {data !== undefined && <ClockTime at={dataUpdatedAt} />}:{' '}
            {error instanceof Error ? error.message : String(error)}
          </p>
          <button type="button" className="button" disabled={isFetching} onClick={() => void refetch()}>
            <RotateCw size={14} aria-hidden />
            Try again
          </button>
        </div>
      ))}
    </Spoken>
  );
}
