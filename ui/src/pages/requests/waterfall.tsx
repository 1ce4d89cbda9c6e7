/** A request in time: its check, and of each attempt the connection, the wait for the first byte, and the answer. */

import { formatMs } from '../../parts/numbers.tsx';
import type { Attempt, RequestDetail } from './query.ts';

interface WaterfallProps {
  trace: NonNullable<RequestDetail['trace']>;
  totalMs: number;
}

/** A part of a bar. */
interface Span {
  /** Milliseconds from the left edge. */
  from: number;
  to: number;
  className: string;
  opacity: number;
}

/** The scale is never shorter, in milliseconds. */
const LEAST_MS = 4;
/** A bar is never thinner, in hundredths. */
const LEAST = 0.6;

export function Waterfall({ trace: { attempts, check_ms: checked }, totalMs }: WaterfallProps) {
  const offset = checked ?? 0;
  const ends = attempts.map(({ started_ms: start, total_ms: length }) => start + length);
  const scale = Math.max(offset + Math.max(totalMs, ...ends), LEAST_MS);
  const [first] = attempts;
  const until = offset + (first?.started_ms ?? 0);
  return (
    <ol className="flex flex-col gap-2.5">
      {checked !== null && first && (
        <li>
          <div className="mb-1 flex flex-wrap justify-between gap-x-3">
            <span>Read and checked</span>
            <span className="text-dim">{formatMs(until)}</span>
          </div>
          <Bar
            scale={scale}
            label={`Read and checked in ${formatMs(until)}.`}
            spans={[{ from: 0, to: until, className: 'fill-dim', opacity: 0.7 }]}
          />
        </li>
      )}
      {attempts.map((attempt, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: Attempts never move.
        <li key={index}>
          <AttemptLine attempt={attempt} offset={offset} scale={scale} />
        </li>
      ))}
      <li className="flex justify-between font-mono text-xs text-dim" aria-hidden="true">
        <span>0</span>
        <span>{formatMs(Math.round(scale / 2))}</span>
        <span>{formatMs(scale)}</span>
      </li>
    </ol>
  );
}

function AttemptLine({ attempt, offset, scale }: { attempt: Attempt; offset: number; scale: number }) {
  const { endpoint, credential, started_ms: start, first_byte_ms: first, total_ms: length, status, error } = attempt;
  const isFailed = error !== null || (status ?? 200) >= 400;
  const outcome = outcomeOf(attempt);
  const phases = phasesOf(attempt);
  const color = isFailed ? 'fill-bad' : 'fill-accent';
  const from = offset + start;
  const connected = Math.min(attempt.connect_ms ?? 0, first ?? length);
  const spans: Span[] = [
    { from, to: from + connected, className: 'fill-dim', opacity: 0.9 },
    { from: from + connected, to: from + (first ?? length), className: color, opacity: isFailed ? 0.85 : 0.45 },
    ...(first === null ? [] : [{ from: from + first, to: from + length, className: color, opacity: 1 }]),
  ];
  return (
    <>
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
      <Bar
        scale={scale}
        spans={spans.filter((span, index) => index > 0 || span.to > span.from)}
        label={`Began after ${formatMs(from)}; ${phases.join('; ')}; ${outcome} after ${formatMs(length)}.`}
      />
      <p className="mt-1 text-dim">
        {phases.join(' · ')}
        {attempt.note && ` · ${attempt.note}`}
      </p>
    </>
  );
}

function outcomeOf({ status, error, cooldown_ms: cooldown }: Attempt): string {
  const known = [status, error].filter((part) => part !== null && part !== undefined).join(' ');
  const ending = known === '' ? 'no response' : known;
  return cooldown === null ? ending : `${ending}, cooldown ${seconds(cooldown)}`;
}

function seconds(ms: number): string {
  const whole = Math.round(ms / 1000);
  return whole < 1 ? formatMs(ms) : whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}

function phasesOf({ connect_ms: connected, first_byte_ms: first, total_ms: length }: Attempt): string[] {
  const connection =
    connected === null ? [] : [connected === 0 ? 'kept connection' : `connected after ${formatMs(connected)}`];
  return first === null
    ? [...connection, 'no first byte']
    : [...connection, `first byte after ${formatMs(first)}`, `answer in ${formatMs(Math.max(0, length - first))}`];
}

function Bar({ scale, spans, label }: { scale: number; spans: readonly Span[]; label: string }) {
  const share = (ms: number) => (100 * ms) / scale;
  return (
    <svg
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      className="block h-2.5 w-full overflow-hidden rounded"
      role="img"
      aria-label={label}
    >
      <rect width="100" height="10" className="fill-line" />
      {spans.map(({ from, to, className, opacity }) => (
        <rect
          key={`${from} ${opacity}`}
          x={share(from)}
          width={Math.max(LEAST, share(to - from))}
          height="10"
          className={className}
          opacity={opacity}
        />
      ))}
    </svg>
  );
}
