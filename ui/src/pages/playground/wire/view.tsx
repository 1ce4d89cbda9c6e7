/** Wire view of one request: what you sent, what went upstream, what came back and what you got. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { formatCount } from '../../../parts/numbers.tsx';
import { Segments } from '../../../parts/segments.tsx';
import { ErrorNotice, LoadingRows } from '../../../parts/states.tsx';
import { useSession } from '../../../session.ts';
import { type Capture, captureQuery } from '../capture.ts';
import type { Run } from '../run.ts';
import { WirePair } from './pair.tsx';
import { PickedProvider } from './picked.tsx';
import { cameBackSide, gotSide, ownSides, type Sending, sentSide, upstreamSide } from './sides.ts';

/** Names of members that end on the left side. */
const REQUEST_NAMES = { unsent: 'not sent on' };
const RESPONSE_NAMES = { unsent: 'not passed on' };

const NO_RESPONSE = 'The gateway had not answered, so that it named no capture. What this browser sent is here.';
const NO_CAPTURE =
  'This gateway made no capture of the request (ui.capture), so that the half of the upstream is not here. What this browser sent and got is.';

export function WireView({ run }: { run: Run }) {
  const { isOperator } = useSession();
  const isOver = run.state !== 'running';
  const asked = useQuery({
    ...captureQuery(run.captureId, isOperator),
    enabled: isOver && run.captureId !== undefined,
  });
  if (!isOver) return <Waiting />;
  if (asked.data) return <Wire capture={asked.data} name={nameOfRun(run)} />;
  if (run.captureId !== undefined && asked.isPending) return <LoadingRows rows={8} />;
  return (
    <>
      <div className="p-3">
        {asked.error ? (
          <ErrorNotice error={asked.error} onRetry={() => void asked.refetch()} />
        ) : (
          <p className="rounded-lg bg-warn-soft px-4 py-3">{run.requestId === undefined ? NO_RESPONSE : NO_CAPTURE}</p>
        )}
      </div>
      <PickedProvider>
        <OwnHalf run={run} />
      </PickedProvider>
    </>
  );
}

function nameOfRun({ model, wire }: Run): string {
  return `${model} over ${wire}`;
}

function Waiting() {
  return (
    <div>
      <p className="px-4 pt-4 text-dim">The wire is shown when the answer has ended.</p>
      <LoadingRows rows={6} />
    </div>
  );
}

function OwnHalf({ run }: { run: Run }) {
  const { sent, got } = ownSides(run);
  const absent = 'Not known to this browser';
  const name = nameOfRun(run);
  return (
    <div className="border-t">
      <WirePair label={`Request, ${name}`} names={REQUEST_NAMES} left={sent} right={undefined} absent={absent} />
      <WirePair label={`Response, ${name}`} names={RESPONSE_NAMES} left={undefined} right={got} absent={absent} />
    </div>
  );
}

function Wire({ capture, name }: { capture: Capture; name: string }) {
  const { upstream } = capture;
  const [chosen, setChosen] = useState(upstream.length - 1);
  const sending = upstream[chosen];
  const names = upstream.map((_, index) => String(index));
  return (
    <PickedProvider>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-2.5">
        <p className="min-w-0 flex-1">{sentenceOf(capture, sending)}</p>
        {upstream.length > 1 && (
          <Segments
            label="Requests to upstreams"
            values={names}
            value={String(chosen)}
            names={Object.fromEntries(upstream.map((one, index) => [String(index), nameOf(one)]))}
            onChange={(next) => setChosen(Number(next))}
          />
        )}
      </div>
      <div className="grid min-w-0 max-2xl:divide-y-2 2xl:grid-cols-2 2xl:divide-x">
        <WirePair
          key={`request ${chosen}`}
          label={`Request, ${name}`}
          names={REQUEST_NAMES}
          left={sentSide(capture)}
          right={sending && upstreamSide(sending)}
          dropped={sending?.dropped}
          way={sending?.path}
          absent="Nothing went upstream"
        />
        <WirePair
          key={`response ${chosen}`}
          label={`Response, ${name}`}
          names={RESPONSE_NAMES}
          left={sending && cameBackSide(sending)}
          right={gotSide(capture)}
          way={sending?.path}
          absent={sending ? 'No response came' : 'Nothing came back'}
        />
      </div>
    </PickedProvider>
  );
}

function nameOf({ attempt, endpoint, response, error }: Sending): string {
  return `${attempt}: ${endpoint}, ${response?.status ?? error ?? 'no response'}`;
}

function sentenceOf({ protocol, response, total_ms: total, upstream }: Capture, sending: Sending | undefined): string {
  if (!sending) return `The gateway answered with status ${response?.status ?? 0} itself; no upstream was asked.`;
  const { path, dropped, endpoint } = sending;
  const ways: Record<string, string> = {
    translated: `Translated from ${protocol} to ${sending.protocol} for ${endpoint}, and back.`,
    patched: `${protocol} on both sides, adjusted for ${endpoint}.`,
    passthrough: `${protocol} on both sides; ${endpoint} got your bytes with its own model name.`,
  };
  const lost = dropped.length === 0 ? 'Nothing was dropped.' : `Dropped: ${dropped.join(', ')}.`;
  const attempts = upstream.length > 1 ? ` ${upstream.length} requests went upstream.` : '';
  return `${ways[path] ?? ''} ${lost}${attempts} ${formatCount(total)} ms in all.`;
}
