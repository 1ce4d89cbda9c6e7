/** Explain: where a request would go, in which order and why, without sending it. */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { CopyAs, commandWith } from '../../parts/copy-as.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { quoted } from '../../shell.ts';
import { useTyped } from '../../typed.ts';
import { modelNames } from '../models/query.ts';
import { Candidates, type Explanation } from './candidates.tsx';
import { RuledReason, Rules } from './rules.tsx';

const route = getRouteApi('/explain');
const PROTOCOLS = ['chat', 'messages', 'generate', 'responses'] as const;
const KNOWLEDGE = ['now', 'ideal'] as const;
const KNOWLEDGE_NAMES = { now: 'As it is now', ideal: 'As if all were healthy' };
const FIRST_MODEL = 'sandbox/echo';
const EXAMPLES: Record<(typeof PROTOCOLS)[number], string> = {
  chat: '{"messages": [{"role": "user", "content": "Hello"}], "seed": 7}',
  messages: '{"max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}], "top_k": 5}',
  generate: '{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}',
  responses: '{"input": "Hello", "reasoning": {"effort": "low"}}',
};
/** A system takes no longer words in a command. */
const MAX_COPIED_CHARACTERS = 100_000;
/** After the last key. */
const PAUSE_MS = 400;

export function ExplainPage() {
  const { protocol = 'chat', model = FIRST_MODEL, policy = '', ideal = false } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const models = useQuery(modelNames);
  const [typed, setTyped] = useState(policy);
  const sent = useRef(policy);
  useEffect(() => {
    // A link to the page, or a step back, says another one than what was typed.
    if (policy === sent.current) return;
    sent.current = policy;
    setTyped(policy);
  }, [policy]);
  const parsed = parsedObject(policy);
  // Prompts are in no address.
  const [body, setBody] = useTyped('body to explain', '');
  const askedBody = useSettled(body);
  const parsedBody = parsedObject(askedBody);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed === policy) return;
      sent.current = typed;
      change({ policy: typed || undefined });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  });
  const asked = useQuery({
    queryKey: ['explain', protocol, model, policy, ideal, askedBody],
    enabled: !(parsed instanceof Error || parsedBody instanceof Error),
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: async ({ signal }) => {
      const question = {
        protocol,
        model,
        ideal,
        ...(parsed && { policy: parsed }),
        ...(parsedBody && { body: parsedBody }),
      };
      return (await bodyOf<{ data: Explanation }>(api.POST('/admin/v1/explain', { body: question as never, signal })))
        .data;
    },
  });
  const isLong = askedBody.length > MAX_COPIED_CHARACTERS;
  const notes = [
    ...(ideal ? [] : ['The command knows nothing of the health of endpoints: it shows what the configuration says.']),
    ...(parsedBody ? ['It has an example for a body; --request takes a file with yours.'] : []),
    ...(isLong ? ['The body is too long for a command, and the call is without it.'] : []),
  ];
  return (
    <Page title="Explain" about="Where a request would go, in which order and why. Nothing is sent.">
      {!asked.error && <Unanswered sources={[{ name: 'Names of models', asked: models }]} />}
      <Card>
        <div className="flex flex-col gap-3 p-4">
          <div className="flex flex-wrap items-center gap-2">
            <Segments
              label="Protocol"
              values={PROTOCOLS}
              value={protocol}
              onChange={(next) => change({ protocol: next })}
            />
            <Combobox
              label="Model"
              value={model}
              options={models.data?.map(({ id }) => id) ?? []}
              onChange={(next) => change({ model: next })}
            />
            <Segments
              label="Knowledge"
              values={KNOWLEDGE}
              names={KNOWLEDGE_NAMES}
              value={ideal ? 'ideal' : 'now'}
              onChange={(next) => change({ ideal: next === 'ideal' ? true : undefined })}
            />
            {!(parsed instanceof Error || parsedBody instanceof Error) && (
              <div className="ml-auto">
                <CopyAs
                  path="/admin/v1/explain"
                  body={{
                    ...{ protocol, model, ideal },
                    ...(parsed && { policy: parsed }),
                    ...(parsedBody && !isLong && { body: parsedBody }),
                  }}
                  command={commandWith(`polygate route ${quoted(model)}`, {
                    '--protocol': protocol === 'chat' ? undefined : protocol,
                    '--provider': parsed && JSON.stringify(parsed),
                  })}
                  note={notes.join(' ') || undefined}
                />
              </div>
            )}
          </div>
          <label className="flex flex-col gap-1">
            <span className="font-medium">
              Policy: the field <code>provider</code> of a request
            </span>
            <textarea
              className="input min-h-16 font-mono"
              spellCheck={false}
              placeholder='{"sort": "price", "max_price": {"prompt": 2}}'
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
          {parsed instanceof Error && <ErrorNotice error={new Error(`The policy is not JSON: ${parsed.message}`)} />}
          <details open={body !== ''}>
            <summary className="min-h-[24px] cursor-pointer content-center font-medium">
              Body of the request <span className="font-normal text-dim">(optional; an example otherwise)</span>
            </summary>
            <textarea
              aria-label="Body of the request"
              className="input mt-1 min-h-28 font-mono"
              spellCheck={false}
              placeholder={EXAMPLES[protocol]}
              value={body}
              onChange={(event) => setBody(event.target.value)}
            />
          </details>
          {parsedBody instanceof Error && (
            <ErrorNotice error={new Error(`The body is no JSON object: ${parsedBody.message}`)} />
          )}
        </div>
      </Card>
      <Card title="Endpoints in the order in which they would be tried">
        <Loaded asked={asked}>{(explanation) => <Candidates explanation={explanation} Reason={RuledReason} />}</Loaded>
      </Card>
      <Rules />
    </Page>
  );
}

/** Text that was typed, once nothing more is. */
function useSettled(typed: string): string {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return settled;
}

function parsedObject(text: string): object | Error | undefined {
  if (text.trim() === '') return undefined;
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? value
      : new Error('it has no members');
  } catch (error) {
    return error as Error;
  }
}
