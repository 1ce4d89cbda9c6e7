/** Attempts of a request in time: the wait for the first byte, and the answer. */

import { formatMs } from '../../parts/numbers.tsx';
import type { Attempt } from './query.ts';

interface WaterfallProps {
  attempts: readonly Attempt[];
  totalMs: number;
}

/** The scale is never shorter, in milliseconds. */
const LEAST_MS = 4;
/** A bar is never thinner, in hundredths. */
const LEAST = 0.6;

export function Waterfall({ attempts, totalMs }: WaterfallProps) {
  const end = Math.max(totalMs, ...attempts.map(({ started_ms: start, total_ms: length }) => start + length), LEAST_MS);
  const share = (ms: number) => (100 * ms) / end;
  return (
    <ol className="flex flex-col gap-2.5">
      {attempts.map((attempt, index) => {
        const { endpoint, credential, started_ms: start, first_byte_ms: first, total_ms: length } = attempt;
        const isFailed = attempt.error !== null || (attempt.status ?? 200) >= 400;
        const waiting = first ?? length;
        const outcome = attempt.error ?? (attempt.status === null ? 'no response' : String(attempt.status));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: Attempts never move.
          <li key={index}>
            <div className="mb-1 flex flex-wrap justify-between gap-x-3">
              <span>
                {endpoint}
                {credential !== null && <span className="text-dim"> credential {credential}</span>}
                <span className="text-dim"> · {attempt.path}</span>
              </span>
              <span className={isFailed ? 'text-bad' : 'text-good'}>
                {outcome} · {formatMs(length)}
              </span>
            </div>
            <svg
              viewBox="0 0 100 10"
              preserveAspectRatio="none"
              className="block h-2.5 w-full overflow-hidden rounded"
              role="img"
              aria-label={`Began after ${formatMs(start)}; ${first === null ? 'no first byte' : `first byte after ${formatMs(first)}`}; ${outcome} after ${formatMs(length)}.`}
            >
              <rect width="100" height="10" className="fill-line" />
              <rect
                x={share(start)}
                width={Math.max(LEAST, share(waiting))}
                height="10"
                className={isFailed ? 'fill-bad' : 'fill-accent'}
                opacity={isFailed ? 0.85 : 0.45}
              />
              {first !== null && (
                <rect
                  x={share(start + first)}
                  width={Math.max(LEAST, share(length - first))}
                  height="10"
                  className={isFailed ? 'fill-bad' : 'fill-accent'}
                />
              )}
            </svg>
            {attempt.note && <p className="mt-1 text-dim">{attempt.note}</p>}
          </li>
        );
      })}
      <li className="flex justify-between font-mono text-xs text-dim" aria-hidden="true">
        <span>0</span>
        <span>{formatMs(Math.round(end / 2))}</span>
        <span>{formatMs(end)}</span>
      </li>
    </ol>
  );
}
