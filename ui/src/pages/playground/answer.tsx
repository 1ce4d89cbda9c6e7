/** Answer of one model: its text, what was sent, its frames, and the same request for a shell. */

import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { formatCount } from '../../parts/numbers.tsx';
import { Card, TableScroll } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { MAX_FRAMES, type Run } from './run.ts';

const TABS = ['Answer', 'Sent', 'Frames', 'Code'] as const;

export function AnswerCard({ run }: { run: Run }) {
  const [tab, setTab] = useState<(typeof TABS)[number]>('Answer');
  const facts = [
    run.firstMs === undefined ? undefined : `first ${formatCount(run.firstMs)} ms`,
    run.totalMs === undefined ? undefined : `whole ${formatCount(run.totalMs)} ms`,
    run.inputTokens === undefined ? undefined : `${formatCount(run.inputTokens)} in`,
    run.outputTokens === undefined ? undefined : `${formatCount(run.outputTokens)} out`,
    run.endpoint && `${run.endpoint}${run.path ? `, ${run.path}` : ''}`,
  ].filter((fact) => fact !== undefined);
  return (
    <Card title={run.model} actions={<Segments label="View" values={TABS} value={tab} onChange={setTab} />}>
      <div className="min-h-28">
        {tab === 'Answer' && (
          <div className="p-4">
            {run.error !== undefined && <ErrorNotice error={run.error} />}
            <p className="break-words whitespace-pre-wrap" aria-busy={run.state === 'running'}>
              {run.text}
              {run.state === 'running' && <span className="text-dim"> …</span>}
            </p>
          </div>
        )}
        {tab === 'Sent' && <Code text={`POST ${run.sent.path}\n\n${JSON.stringify(run.sent.body, undefined, 2)}`} />}
        {tab === 'Frames' && <Frames run={run} />}
        {tab === 'Code' && <Code text={curlOf(run)} language="shell" />}
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-4 py-2.5 text-dim" role="status">
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {run.dropped && <span className="text-warn">dropped: {run.dropped}</span>}
        {run.requestId && run.state !== 'running' && (
          <Link
            to="/requests"
            search={{ open: run.requestId }}
            className="ml-auto text-accent underline-offset-4 hover:underline"
          >
            How it was routed
          </Link>
        )}
      </div>
    </Card>
  );
}

function Frames({ run }: { run: Run }) {
  return (
    <TableScroll label="Frames" className="max-h-96 !rounded-none">
      <table className="data font-mono text-xs">
        <thead>
          <tr>
            <th scope="col" className="number">
              ms
            </th>
            <th scope="col">Frame</th>
          </tr>
        </thead>
        <tbody>
          {run.frames.map(({ ms, event, data }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: Frames never move.
            <tr key={index}>
              <td className="number align-top text-dim">+{ms}</td>
              <td className="!whitespace-pre-wrap break-all">
                {event && <span className="text-accent">{event} </span>}
                {data}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {run.frames.length >= MAX_FRAMES && <p className="p-3 text-dim">The first {MAX_FRAMES} frames are shown.</p>}
    </TableScroll>
  );
}

function curlOf({ sent, wire }: Run): string {
  const credential =
    wire === 'messages'
      ? 'x-api-key: $POLYGATE_KEY'
      : wire === 'generate'
        ? 'x-goog-api-key: $POLYGATE_KEY'
        : 'Authorization: Bearer $POLYGATE_KEY';
  const body = JSON.stringify(sent.body).replaceAll("'", `'\\''`);
  return `curl -N '${location.origin}${sent.path}' \\
  -H "${credential}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}
