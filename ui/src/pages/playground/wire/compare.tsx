/** Comparison of two protocols: the same conversation with the same model, both sides of the client aligned. */

import { useQueries } from '@tanstack/react-query';
import { Card } from '../../../parts/page.tsx';
import { ErrorNotice, LoadingRows } from '../../../parts/states.tsx';
import { useSession } from '../../../session.ts';
import { captureQuery } from '../capture.ts';
import type { Run } from '../run.ts';
import { WirePair } from './pair.tsx';
import { PickedProvider } from './picked.tsx';
import { gotSide, ownSides, type Side, sentSide } from './sides.ts';

export function CompareCard({ one, other }: { one: Run; other: Run }) {
  const { isOperator } = useSession();
  const isOver = one.state !== 'running' && other.state !== 'running';
  const asked = useQueries({
    queries: [one, other].map((run) => ({
      ...captureQuery(run.captureId, isOperator),
      enabled: isOver && run.captureId !== undefined,
    })),
  });
  const title = `${one.model} over ${one.wire} and over ${other.wire}`;
  const isPending = asked.some(({ isLoading }) => isLoading);
  const error = asked.find((query) => query.error)?.error;
  const names = { unsent: `only ${one.wire}`, added: `only ${other.wire}` };
  const sides = [one, other].map((run, index): { sent: Side; got: Side | undefined } => {
    const capture = asked[index]?.data;
    const [sent, got] = [`Over ${run.wire} you sent`, `Over ${run.wire} you got`];
    if (capture) return { sent: sentSide(capture, sent), got: gotSide(capture, got) };
    const own = ownSides(run);
    return { sent: { ...own.sent, title: sent }, got: { ...own.got, title: got } };
  });
  return (
    <Card title={title} className="col-span-full">
      {!isOver || isPending ? (
        <LoadingRows rows={6} />
      ) : (
        <PickedProvider>
          {error !== null && error !== undefined && (
            <div className="p-3">
              <ErrorNotice error={error} />
            </div>
          )}
          <div className="grid min-w-0 max-2xl:divide-y-2 2xl:grid-cols-2 2xl:divide-x">
            <WirePair
              label={`Requests, ${title}`}
              left={sides[0]?.sent}
              right={sides[1]?.sent}
              names={names}
              absent="Nothing was sent"
            />
            <WirePair
              label={`Responses, ${title}`}
              isTimed={false}
              left={sides[0]?.got}
              right={sides[1]?.got}
              names={names}
              absent="Nothing was received"
            />
          </div>
        </PickedProvider>
      )}
    </Card>
  );
}
