/** Answer of one model: its reasoning, text and tool calls, both sides of the wire, the request as a program, and the order of endpoints. */

import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { formatCount, Money } from '../../parts/numbers.tsx';
import { Card } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { codeOf, LANGUAGES, PROGRAMS } from './code.ts';
import type { ToolCall } from './conversation.ts';
import { useCost } from './cost.ts';
import { Earlier } from './earlier.tsx';
import { ExplainView } from './explain.tsx';
import type { Run } from './run.ts';
import { WireView } from './wire/view.tsx';

export const VIEWS = ['answer', 'wire', 'code', 'explain'] as const;
export type View = (typeof VIEWS)[number];
const VIEW_NAMES = { answer: 'Answer', wire: 'Wire', code: 'Code', explain: 'Explain' };

interface AnswerCardProps {
  run: Run;
  title: string;
  view: View;
  onView(view: View): void;
}

export function AnswerCard({ run, title, view, onView }: AnswerCardProps) {
  const facts = [
    run.firstMs === undefined ? undefined : `first ${formatCount(run.firstMs)} ms`,
    run.totalMs === undefined ? undefined : `whole ${formatCount(run.totalMs)} ms`,
    run.inputTokens === undefined ? undefined : `${formatCount(run.inputTokens)} tokens in`,
    run.outputTokens === undefined ? undefined : `${formatCount(run.outputTokens)} out`,
    run.endpoint && `${run.endpoint}${run.path ? `, ${run.path}` : ''}`,
  ].filter((fact) => fact !== undefined);
  const isWide = view !== 'answer';
  const cost = useCost(run);
  return (
    <Card
      title={title}
      className={`flex flex-col ${isWide ? 'col-span-full' : ''}`}
      actions={<Segments label="View" values={VIEWS} names={VIEW_NAMES} value={view} onChange={onView} />}
    >
      <div className="min-h-28 flex-1">
        {view === 'answer' && (
          <div className="p-4">
            <Earlier messages={run.messages} />
            {run.error !== undefined && <ErrorNotice error={run.error} />}
            {run.reasoning !== '' && (
              <details className="mb-3 text-dim" open>
                <summary className="min-h-[24px] content-center hover:text-ink">Reasoning</summary>
                <p className="border-l-2 pl-3 break-words whitespace-pre-wrap">{run.reasoning}</p>
              </details>
            )}
            <p className="break-words whitespace-pre-wrap" aria-busy={run.state === 'running'}>
              {run.text}
              {run.state === 'running' && <span className="text-dim"> …</span>}
            </p>
            {run.calls.map((call, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: Calls are only added.
              <Call key={index} call={call} />
            ))}
          </div>
        )}
        {view === 'wire' && <WireView run={run} />}
        {view === 'code' && <CodeView run={run} />}
        {view === 'explain' && <ExplainView run={run} />}
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-4 py-2.5 text-dim">
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {cost !== undefined && (
          <span>
            cost <Money usd={cost} />
          </span>
        )}
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

function Call({ call: { name, input } }: { call: ToolCall }) {
  return (
    <section className="mt-3 rounded-lg border" aria-label={`Tool call ${name}`}>
      <h3 className="border-b px-3 py-1.5">
        Calls <span className="font-mono">{name}</span>
      </h3>
      <Code text={readable(input)} language="json" />
    </section>
  );
}

/** JSON in lines; text that is no JSON (yet) as it is. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text || '{}'), null, 2);
  } catch {
    return text;
  }
}

function CodeView({ run }: { run: Run }) {
  const { clientsUrl } = useSession();
  const [program, setProgram] = useState<(typeof PROGRAMS)[number]>('curl');
  const { wire, sent, model } = run;
  return (
    <>
      <div className="px-4 pt-3">
        <Segments label="Language" values={PROGRAMS} value={program} onChange={setProgram} />
      </div>
      <Code text={codeOf(program, { wire, sent, model, origin: clientsUrl })} language={LANGUAGES[program]} />
    </>
  );
}
