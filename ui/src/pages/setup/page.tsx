/** Setup: a key, a provider, a program, and the tick when the first request has come. */

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { CircleCheck, LoaderCircle } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import {
  allowedOf,
  firstModelOf,
  LANGUAGE_OF,
  PROGRAMS,
  type Program,
  programOf,
  snippetOf,
} from '../../first-model.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { Code } from '../../parts/code.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Field } from '../../parts/field.tsx';
import { Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice, Loaded } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { keyFacts } from '../key/query.ts';
import { modelNames } from '../models/query.ts';
import { Providers } from './providers.tsx';

const route = getRouteApi('/setup');

/** Stands for a key that this page does not know. */
const VARIABLE = '$POLYGATE_KEY';
const ASK_EVERY_MS = 1500;

export function SetupPage() {
  const { isOperator, isAdmin } = useSession();
  const [key, setKey] = useState('');
  const [made, setMade] = useState<Made>();
  const [hasCome, setCome] = useState(false);
  useKept(key !== '' && !hasCome);
  const steps: [title: string, content: ReactNode][] = [
    ['A key', <KeyStep key="key" value={key} onChange={setKey} onMade={setMade} canCreate={isAdmin} />],
    ...(isOperator ? [['A provider', <Providers key="providers" />] as [string, ReactNode]] : []),
    ['Your program', <ProgramStep key="program" secret={key || VARIABLE} made={made} />],
    ['Its first request', <FirstRequest key={`first ${made?.hash}`} hash={made?.hash} onCome={setCome} />],
  ];
  return (
    <Page title="Setup" about="From here to the first answer. The sandbox needs no provider and no account.">
      <ol className="flex flex-col gap-5">
        {steps.map(([title, content], index) => (
          <li key={title} className="card relative grid gap-x-5 gap-y-2 p-5 sm:grid-cols-[auto_1fr]">
            <span
              aria-hidden
              className="grid size-7 place-items-center rounded-full bg-accent-soft font-medium text-accent tabular-nums max-sm:absolute max-sm:top-5 max-sm:left-5"
            >
              {index + 1}
            </span>
            <section className="min-w-0" aria-label={title}>
              <h2 className="mb-3 leading-7 max-sm:pl-9">{title}</h2>
              {content}
            </section>
          </li>
        ))}
      </ol>
    </Page>
  );
}

/** Asks before the page is left while something on it would be lost. */
function useKept(isAsked: boolean): void {
  const { history } = useRouter();
  useEffect(() => {
    if (!isAsked) return;
    return history.block({
      blockerFn: ({ currentLocation, nextLocation }) =>
        currentLocation.pathname !== nextLocation.pathname &&
        !confirm('The key is only on this page, and its first request has not come. Leave the page?'),
    });
  }, [history, isAsked]);
}

/** A key that was made on this page. */
interface Made {
  hash: string;
  models: string[] | null;
}

interface KeyStepProps {
  value: string;
  canCreate: boolean;
  onChange(key: string): void;
  onMade(key: Made): void;
}

/** A key stays in the memory of this page. */
function KeyStep({ value, canCreate, onChange, onMade }: KeyStepProps) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const creation = useMutation({
    mutationFn: async () => bodyOf<{ data: Made; key: string }>(api.POST('/admin/v1/keys', { body: { name } })),
    onSuccess(created) {
      onChange(created.key);
      onMade(created.data);
      return queries.invalidateQueries({ queryKey: ['keys'] });
    },
  });
  if (creation.data) {
    return (
      <div className="flex flex-col gap-2">
        <p>Shown once and stored only as a hash. Copy it now.</p>
        <div className="flex items-center gap-2 rounded-lg border bg-page py-1.5 pr-2 pl-3">
          <code className="min-w-0 flex-1 break-all">{creation.data.key}</code>
          <CopyButton text={creation.data.key} label="Copy the key" />
        </div>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <Field
        label="The key of the program"
        hint={`${canCreate ? 'The gateway printed one at its first start. It' : 'Yours, for example. It'} is written into the snippets below and stays in this page.`}
        type="password"
        autoComplete="off"
        placeholder="sk-pg-…"
        value={value}
        onChange={(text) => onChange(text.trim())}
      />
      {canCreate && (
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            creation.mutate();
          }}
        >
          <div className="min-w-48 flex-1">
            <Field label="Or make one, named" placeholder="laptop" required value={name} onChange={setName} />
          </div>
          <button type="submit" className="button" disabled={creation.isPending}>
            Make a key
          </button>
        </form>
      )}
      {creation.error && <ErrorNotice error={creation.error} />}
    </div>
  );
}

interface ProgramStepProps {
  secret: string;
  made: Made | undefined;
}

/** Offers the models of the key that was made here, else of the one that signed in; of a key that was pasted, they are not known. */
function ProgramStep({ secret, made }: ProgramStepProps) {
  const { clientsUrl, isOperator } = useSession();
  const own = useQuery({ ...keyFacts, enabled: !isOperator });
  const { program: named, model: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const program = programOf(named);
  const change = (next: { program?: Program; model?: string }) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true, resetScroll: false });
  const asked = useQuery(modelNames);
  return (
    <Loaded asked={asked}>
      {(models) => {
        const globs = (isOperator ? made : own.data)?.models ?? null;
        const ids = allowedOf(
          models.map(({ id }) => id),
          globs,
        );
        const model = chosen ?? firstModelOf(ids);
        return (
          <div className="flex flex-col gap-3">
            <div className="flex flex-wrap items-center justify-between gap-2">
              <Segments
                label="Program"
                values={PROGRAMS}
                value={program}
                onChange={(next) => change({ program: next })}
              />
              <Combobox label="Model" value={model} options={ids} onChange={(next) => change({ model: next })} />
            </div>
            <div className="rounded-lg border bg-page">
              <Code
                text={snippetOf(program, { origin: clientsUrl, model, key: secret })}
                language={LANGUAGE_OF[program]}
              />
            </div>
            <p className="text-dim">
              <code>polygate connect</code> writes the settings of coding agents by itself.
            </p>
          </div>
        );
      }}
    </Loaded>
  );
}

interface NewestRequests {
  data: { id: string; model: string; status: string; total_ms: number | null }[];
  /** Cursor of what ends after them. */
  live: string | null;
}

/** Waits for a request that has ended since the page was opened, or since its key was made, by the clock of the gateway. */
function FirstRequest({ hash, onCome }: { hash: string | undefined; onCome(hasCome: boolean): void }) {
  const { isOperator } = useSession();
  const queries = useQueryClient();
  const queryKey = ['setup', 'first-request', isOperator, hash];
  const asked = useQuery({
    queryKey,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const first = queries.getQueryData<{ live: string | null }>(queryKey)?.live ?? undefined;
      const { data, live } = isOperator
        ? await bodyOf<NewestRequests>(
            api.GET('/admin/v1/requests', { params: { query: { live: first, key: hash } }, signal }),
          )
        : await bodyOf<NewestRequests>(api.GET('/v1/self/requests', { params: { query: { live: first } }, signal }));
      return first === undefined ? { live } : { live: first, newest: data[0] };
    },
    refetchInterval: ({ state }) => (state.data?.newest ? false : ASK_EVERY_MS),
  });
  const data = asked.data?.newest;
  const hasCome = data !== undefined;
  useEffect(() => onCome(hasCome), [hasCome, onCome]);
  if (asked.error && !data) return <ErrorNotice error={asked.error} onRetry={() => void asked.refetch()} />;
  return (
    <Spoken as="p" className={`flex flex-wrap items-center gap-2 ${data ? 'text-good' : 'text-dim'}`}>
      {data ? <CircleCheck size={18} aria-hidden /> : <LoaderCircle size={18} aria-hidden className="animate-spin" />}
      {data ? (
        <>
          It has come: {data.model}, {data.status}
          {data.total_ms !== null && ` in ${data.total_ms} ms`}.
          <Link to="/requests" search={{ open: data.id }} className="text-accent underline underline-offset-4">
            See how it was routed
          </Link>
        </>
      ) : (
        `Waiting for a request${hash === undefined ? '' : ' with this key'} …`
      )}
    </Spoken>
  );
}
