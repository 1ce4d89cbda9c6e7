/** Attempts of a webhook: as dots in a line, and one by one. */

import { formatCount, Time } from '../../parts/numbers.tsx';
import { Status } from '../../parts/status.tsx';
import type { Attempt, Delivery } from './query.ts';

export const OUTCOME_WORDS: Record<Attempt['outcome'], string> = {
  ack: 'acknowledged',
  http_status: 'refused',
  timeout: 'no answer in time',
  dns: 'host not found',
  connect: 'no connection',
  tls: 'certificate not accepted',
  protocol: 'no HTTP',
  blocked: 'address not allowed',
};

export function outcomeOf({ outcome, status }: Attempt): string {
  return status === undefined ? OUTCOME_WORDS[outcome] : `${OUTCOME_WORDS[outcome]}, ${status}`;
}

/** A filled dot is an attempt that was acknowledged, a cross one that failed, a ring one to come. */
export function AttemptDots({ delivery: { attempts, next_attempt_at: next } }: { delivery: Delivery }) {
  const words = [
    ...attempts.map((attempt) => `${attempt.n}: ${outcomeOf(attempt)}`),
    ...(next ? ['one to come'] : []),
  ].join('; ');
  return (
    <span role="img" aria-label={words || 'none yet'} title={words} className="inline-flex items-center gap-1">
      {attempts.map(({ n, outcome }) => (
        <svg key={n} width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
          {outcome === 'ack' ? (
            <circle cx="5" cy="5" r="4" className="fill-good" />
          ) : (
            <path d="M1.5 1.5l7 7M8.5 1.5l-7 7" className="stroke-bad" strokeWidth="2" />
          )}
        </svg>
      ))}
      {next && (
        <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
          <circle cx="5" cy="5" r="3.5" className="fill-none stroke-faint" strokeDasharray="2 1.5" />
        </svg>
      )}
    </span>
  );
}

export function AttemptList({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <p className="text-dim">No attempt has ended yet.</p>;
  return (
    <ol className="flex flex-col divide-y rounded-lg border">
      {attempts.map((attempt) => (
        <li key={attempt.n} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
          <span className="w-5 text-dim tabular-nums">{attempt.n}</span>
          <Status tone={attempt.outcome === 'ack' ? 'good' : 'bad'}>{outcomeOf(attempt)}</Status>
          <span className="text-dim">
            {attempt.trigger === 'replay' && 'replay, '}
            <Time at={attempt.started_at} withDate={false} />,{' '}
            {formatCount(Date.parse(attempt.ended_at) - Date.parse(attempt.started_at))} ms
          </span>
          {attempt.address && <code className="text-dim">{attempt.address}</code>}
          {attempt.retry_after_ms !== undefined && (
            <span className="text-dim">asked for {formatCount(Math.round(attempt.retry_after_ms / 1000))} s</span>
          )}
          {attempt.next_attempt_at && (
            <span className="text-dim max-sm:basis-full max-sm:pl-8 sm:ml-auto">
              next <Time at={attempt.next_attempt_at} withDate={false} />
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}
