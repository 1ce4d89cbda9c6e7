/** Playground: one conversation over any protocol to several models, side by side. */

import { queryOptions, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus, Send, Square, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request } from '../../api.ts';
import { foundKeys } from '../../keys.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { KeyPicker } from '../../parts/key-picker.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, ErrorNotice, LoadingBlock } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { useTyped } from '../../typed.ts';
import { modelNames } from '../models/query.ts';
import { AnswerCard, type View } from './answer.tsx';
import { Attachments } from './attachments.tsx';
import { askedAgain, EXAMPLE, nextMessage, problemOf, turnWith } from './conversation.ts';
import { Parameters } from './parameters.tsx';
import { WIRES } from './protocols.ts';
import { conversationOf, type Run, useRuns, wordsOf } from './run.ts';
import { CompareCard } from './wire/compare.tsx';
import { requestOf } from './wires.ts';

const route = getRouteApi('/playground');
const MAX_MODELS = 4;
const FIRST_MODEL = 'sandbox/echo';
/** The description of the API says where each protocol is. */
const apiPaths = queryOptions({
  queryKey: ['paths'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }): Promise<string[]> =>
    Object.keys((await (await request('/openapi.json', { signal })).json()).paths),
});

export function PlaygroundPage() {
  const {
    wire = 'chat',
    and,
    models: chosen = FIRST_MODEL,
    key: chosenKey,
    view = 'answer',
    policy,
  } = route.useSearch();
  const navigate = route.useNavigate();
  const { isOperator, mayChange } = useSession();
  const [turn, setTurn] = useTyped('turn', () => turnWith(policy));
  const offered = useQuery(modelNames);
  const paths = useQuery(apiPaths);
  const keys = useQuery({ ...foundKeys({}, 1), enabled: isOperator });
  const { runs, start, stop, clear } = useRuns();
  /** Whether what is sent goes on with the conversation of each model. */
  const [keeps, setKeeps] = useState(false);
  const models = chosen.split(',').filter(Boolean);
  const asKey = isOperator ? (chosenKey ?? keys.data?.[0]?.hash) : undefined;
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const isRunning = runs.some(({ state }) => state === 'running');
  const problem = offered.error ?? paths.error ?? keys.error;
  const wrong = problemOf(turn);
  const wires = and === undefined || and === wire ? [wire] : [wire, and];

  // What was asked is in no conversation where no model has answered it.
  useEffect(() => {
    const last = runs[0]?.messages.at(-1);
    if (!keeps || !last || runs.some(({ state }) => state !== 'failed')) return;
    setTurn((now) => (now.user === '' ? { ...now, ...askedAgain(last) } : now));
  }, [runs, keeps, setTurn]);

  const awaitsResults = keeps && runs.some(({ calls, state }) => state === 'done' && calls.length > 0);

  /** Waits for what the page has just asked for; typing can be faster. */
  async function send() {
    if (!mayChange || turn.user.trim() === '' || wrong !== undefined) return;
    const known = paths.data ?? (await paths.refetch()).data;
    const key = asKey ?? (isOperator ? (await keys.refetch()).data?.[0]?.hash : undefined);
    if (!known || (isOperator && !key)) return;
    const starts = models.flatMap((model) => wires.map((one) => ({ model, wire: one })));
    start(
      starts.map((one) => {
        const before = keeps ? conversationOf(runs, one) : [];
        const messages = [...before, nextMessage(turn, before)];
        return { ...one, key, messages, sent: requestOf(one.wire, { model: one.model, turn, messages, paths: known }) };
      }),
    );
    if (!keeps) return;
    // What was typed or added since stays.
    setTurn((now) => ({
      ...now,
      user: now.user === turn.user ? '' : now.user,
      pictures: now.pictures.filter((picture) => !turn.pictures.includes(picture)),
    }));
  }

  async function retry() {
    await Promise.all([offered, paths, keys].filter(({ error }) => error).map(({ refetch }) => refetch()));
  }

  const isPending = !problem && (offered.isPending || paths.isPending || keys.isLoading);
  const isCompared = new Set(runs.map((run) => run.wire)).size > 1;

  return (
    <Page
      title="Playground"
      about="The same words over any protocol to several models, seen on both sides of the gateway. Nothing of it is stored."
      isWide={view === 'wire'}
    >
      <Spoken className="sr-only">{wordsOf(runs)}</Spoken>
      {problem && <ErrorNotice error={problem} onRetry={() => void retry()} />}
      <Card>
        <form
          className="flex flex-col gap-3 p-4"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <div className="flex flex-wrap items-center gap-2">
            <Segments label="Protocol" values={WIRES} value={wire} onChange={(next) => change({ wire: next })} />
            <Select
              label="Compare with another protocol"
              value={and ?? 'none'}
              options={[
                { value: 'none', label: 'one protocol' },
                ...WIRES.filter((one) => one !== wire).map((one) => ({ value: one, label: `and over ${one}` })),
              ]}
              onChange={(next) => change({ and: next === 'none' ? undefined : (next as typeof and) })}
            />
            {models.map((model, index) => (
              <span key={model} className="flex items-center">
                <Combobox
                  label={`Model ${index + 1}`}
                  value={model}
                  options={offered.data?.map(({ id }) => id) ?? []}
                  onChange={(next) => change({ models: [...new Set(models.with(index, next))].join(',') })}
                />
                {models.length > 1 && (
                  <button
                    type="button"
                    aria-label={`Leave out ${model}`}
                    className="grid size-[24px] place-items-center rounded-md text-dim hover:bg-hover"
                    onClick={() => change({ models: models.filter((one) => one !== model).join(',') })}
                  >
                    <X size={14} aria-hidden />
                  </button>
                )}
              </span>
            ))}
            {models.length < MAX_MODELS && (
              <button
                type="button"
                className="button"
                onClick={() => {
                  const next = offered.data?.find(({ id }) => !models.includes(id))?.id;
                  if (next) change({ models: [...models, next].join(',') });
                }}
              >
                <Plus size={14} aria-hidden />
                Model
              </button>
            )}
            {isOperator && (
              <span className="sm:ml-auto">
                <KeyPicker
                  label="Key"
                  value={asKey}
                  wordsOf={(name) => `as ${name}`}
                  onChange={(next) => change({ key: next })}
                />
              </span>
            )}
          </div>
          <label>
            <span className="sr-only">System</span>
            <textarea
              className="input min-h-10"
              rows={1}
              placeholder="System (optional)"
              value={turn.system}
              onChange={(event) => setTurn({ ...turn, system: event.target.value })}
            />
          </label>
          <label>
            <span className="sr-only">User</span>
            <textarea
              className="input min-h-20"
              rows={3}
              placeholder={
                awaitsResults
                  ? 'The result of the tools that were called. Ctrl-Enter sends it.'
                  : 'Ask something. Ctrl-Enter sends it.'
              }
              value={turn.user}
              onChange={(event) => setTurn({ ...turn, user: event.target.value })}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send();
              }}
            />
          </label>
          <Attachments turn={turn} onChange={setTurn} />
          <div className="flex flex-wrap items-center gap-3">
            <Parameters wire={wire} turn={turn} wrong={wrong} onChange={setTurn} />
            <label className="flex items-center gap-2 text-dim">
              <input
                type="checkbox"
                className="size-4"
                checked={turn.stream}
                onChange={(event) => setTurn({ ...turn, stream: event.target.checked })}
              />
              Stream
            </label>
            <label className="flex items-center gap-2 text-dim">
              <input
                type="checkbox"
                className="size-4"
                checked={keeps}
                onChange={(event) => setKeeps(event.target.checked)}
              />
              Keep the conversation
            </label>
            <span className="ml-auto flex gap-2">
              {keeps && runs.length > 0 && (
                <button type="button" className="button" onClick={clear}>
                  Start over
                </button>
              )}
              {isRunning && (
                <button type="button" className="button" onClick={stop}>
                  <Square size={13} aria-hidden />
                  Stop
                </button>
              )}
              <button
                type="submit"
                className="button button-primary"
                disabled={!mayChange || !paths.data || (isOperator && !asKey)}
              >
                <Send size={14} aria-hidden />
                Send
              </button>
            </span>
          </div>
          {wrong !== undefined && <ErrorNotice error={wrong} />}
          {!mayChange && <p className="text-warn">This session may only read, and cannot send requests.</p>}
        </form>
      </Card>
      {runs.length === 0 && isPending && <LoadingBlock className="h-40" />}
      {runs.length === 0 && !isPending && (
        <Card>
          <Empty title="Nothing was asked yet">
            <p>
              Each answer has its wire: what you sent, what went upstream, what came back and what you got, with every
              field that was renamed, dropped or added at its place.
            </p>
            <button type="button" className="button mt-4" onClick={() => setTurn({ ...turn, ...EXAMPLE })}>
              Fill in an example
            </button>
          </Empty>
        </Card>
      )}
      {runs.length > 0 && (
        <div className="grid gap-5 [grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr))]">
          {view === 'wire' &&
            pairsOf(runs).map(([one, other]) => <CompareCard key={`${one.model} pair`} one={one} other={other} />)}
          {runs.map((run) => (
            <AnswerCard
              key={`${run.model} ${run.wire}`}
              run={run}
              title={isCompared ? `${run.model} over ${run.wire}` : run.model}
              view={view}
              onView={(next: View) => change({ view: next === 'answer' ? undefined : next })}
            />
          ))}
        </div>
      )}
    </Page>
  );
}

/** Runs of one model over two protocols. */
function pairsOf(runs: readonly Run[]): [Run, Run][] {
  return runs.flatMap((run, index): [Run, Run][] => {
    const next = runs[index + 1];
    return next?.model === run.model && next.wire !== run.wire ? [[run, next]] : [];
  });
}
