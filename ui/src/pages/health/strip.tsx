/** Success of an endpoint in the half hours of a day, as a strip. */

import { gatewayNow } from '../../times.ts';
import type { Counts } from './query.ts';

const WIDTH = 3;
const GAP = 1;
const HEIGHT = 18;
const HALF_HOUR_MS = 1_800_000;
/** Share of failures from which a half hour is bad, not only troubled. */
const MANY = 0.1;

/** Shares in percent; never 100 where one failed. */
export function successOf({ attempts, failed }: Counts): string | undefined {
  if (attempts === 0) return undefined;
  const share = (100 * (attempts - failed)) / attempts;
  const digits = failed > 0 && share > 90 ? 2 : 0;
  const shown = failed > 0 ? Math.min(share, 99.99) : share;
  return `${shown.toFixed(digits)} %`;
}

interface StripProps {
  endpoint: string;
  halfHours: readonly Counts[];
  day: Counts;
  /** As wide as there is room for. */
  isWide?: boolean;
}

export function Strip({ endpoint, halfHours, day, isWide = false }: StripProps) {
  const now = gatewayNow();
  const width = halfHours.length * (WIDTH + GAP) - GAP;
  const label =
    day.attempts === 0
      ? `${endpoint}: no attempt in the last day`
      : `${endpoint}: ${successOf(day)} of ${day.attempts} attempts of the last day succeeded`;
  return (
    <svg
      {...(isWide ? { className: 'h-10 w-full', preserveAspectRatio: 'none' } : { width, height: HEIGHT })}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      {halfHours.map((counts, index) => {
        const from = new Date(now - (halfHours.length - index) * HALF_HOUR_MS);
        const tall = looksOf(counts);
        return (
          <g key={from.getTime()}>
            <title>{`${timeOf(from)}: ${wordsOf(counts)}`}</title>
            <rect x={index * (WIDTH + GAP)} width={WIDTH} height={HEIGHT} className="fill-transparent" />
            <rect
              x={index * (WIDTH + GAP)}
              y={HEIGHT - tall.height}
              width={WIDTH}
              height={tall.height}
              rx={1}
              className={tall.className}
            />
          </g>
        );
      })}
    </svg>
  );
}

/** Height says as much as colour does. */
function looksOf({ attempts, failed }: Counts): { height: number; className: string } {
  if (attempts === 0) return { height: 3, className: 'fill-line' };
  if (failed === 0) return { height: HEIGHT, className: 'fill-good' };
  return failed / attempts < MANY
    ? { height: HEIGHT * 0.75, className: 'fill-warn' }
    : { height: HEIGHT * 0.5, className: 'fill-bad' };
}

function wordsOf({ attempts, failed }: Counts): string {
  if (attempts === 0) return 'none';
  return failed === 0 ? `${attempts} succeeded` : `${failed} of ${attempts} failed`;
}

function timeOf(from: Date): string {
  return from.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
}
