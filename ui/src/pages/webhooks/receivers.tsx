/** Receivers of webhooks, the busiest first, and how the newest webhooks to each ended. */

import { formatCount, Time } from '../../parts/numbers.tsx';
import type { ReceiverFigures } from './query.ts';

interface ReceiversProps {
  /** Absent until they are known. */
  figures: { data: ReceiverFigures[]; complete: boolean } | undefined;
  chosen: string | undefined;
  areAllShown: boolean;
  onShowAll(areAllShown: boolean): void;
  onChoose(host: string | undefined): void;
}

/** The busiest ones. */
const FIRST_RECEIVERS = 6;

export function Receivers({ figures, chosen, areAllShown, onShowAll, onChoose }: ReceiversProps) {
  if (!figures || figures.data.length === 0) return null;
  const { data: receivers, complete } = figures;
  const shown = areAllShown ? receivers : receivers.slice(0, FIRST_RECEIVERS);
  return (
    <section aria-label="Receivers" className="flex flex-col gap-3">
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-3">
        {shown.map((receiver) => (
          <li key={receiver.host}>
            <Receiver
              receiver={receiver}
              isChosen={receiver.host === chosen}
              onClick={() => onChoose(receiver.host === chosen ? undefined : receiver.host)}
            />
          </li>
        ))}
      </ul>
      {(receivers.length > FIRST_RECEIVERS || !complete) && (
        <p className="flex flex-wrap items-center gap-3 text-dim">
          {receivers.length > FIRST_RECEIVERS && (
            <button type="button" className="button" onClick={() => onShowAll(!areAllShown)}>
              {areAllShown ? `Show the busiest ${FIRST_RECEIVERS}` : `Show all ${formatCount(receivers.length)}`}
            </button>
          )}
          {!complete && 'Of the newest webhooks only: there are too many to count all.'}
        </p>
      )}
    </section>
  );
}

interface ReceiverProps {
  receiver: ReceiverFigures;
  isChosen: boolean;
  onClick(): void;
}

function Receiver({ receiver, isChosen, onClick }: ReceiverProps) {
  const { host, delivered, exhausted, pending, failing_since: since } = receiver;
  const ended = delivered + exhausted;
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={onClick}
      className="card flex h-full w-full flex-col gap-1 px-4 py-3 text-left hover:border-strong aria-pressed:border-accent"
    >
      <span className="truncate font-medium">{host}</span>
      <span className="flex items-baseline justify-between gap-3">
        <span className="text-[1.2rem] font-medium tabular-nums">
          {ended === 0 ? '—' : `${percent(delivered / ended)} %`}
        </span>
        <span className="text-dim">
          {[
            ...(ended > 0 ? [`${formatCount(delivered)} of ${formatCount(ended)} delivered`] : []),
            ...(pending > 0 ? [`${formatCount(pending)} on the way`] : []),
          ].join(', ')}
        </span>
      </span>
      {since && (
        <span className="text-bad">
          failing since <Time at={since} />
        </span>
      )}
    </button>
  );
}

/** All of them is 100, and nothing else is. */
function percent(share: number): string {
  return share === 1 ? '100' : Math.min(99.9, share * 100).toFixed(1);
}
