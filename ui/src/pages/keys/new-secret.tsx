/** A new key, shown once: snippets with it, and a tick when its first request has come. */

import { useQuery } from '@tanstack/react-query';
import { CircleCheck, LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { allowedOf, firstModelOf, LANGUAGE_OF, PROGRAMS, type Program, snippetOf } from '../../first-model.ts';
import { Spoken } from '../../parts/announcer.tsx';
import { Code } from '../../parts/code.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { modelNames } from '../models/query.ts';

const ASK_EVERY_MS = 1500;

interface NewSecretProps {
  secret: string;
  hash: string;
  models: string[] | null;
  onDone(): void;
}

export function NewSecret({ secret, hash, models, onDone }: NewSecretProps) {
  const { clientsUrl } = useSession();
  const [program, setProgram] = useState<Program>('curl');
  const offered = useQuery(modelNames).data?.map(({ id }) => id) ?? [];
  const allowed = allowedOf(offered, models);
  const [chosen, setChosen] = useState<string>();
  const model = chosen ?? firstModelOf(allowed);
  return (
    <div className="flex flex-col gap-5">
      <div>
        <p className="mb-2">Shown once and stored only as a hash. Copy it now.</p>
        <div className="flex items-center gap-2 rounded-lg border bg-page py-1.5 pr-2 pl-3">
          <code className="min-w-0 flex-1 break-all">{secret}</code>
          <CopyButton text={secret} label="Copy the key" />
        </div>
      </div>
      <div>
        <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
          <Segments label="Program" values={PROGRAMS} value={program} onChange={setProgram} />
          <Select
            label="Model"
            value={model}
            options={allowed.slice(0, 200).map((id) => ({ value: id, label: id }))}
            onChange={setChosen}
          />
        </div>
        <div className="rounded-lg border bg-page">
          <Code text={snippetOf(program, { origin: clientsUrl, model, key: secret })} language={LANGUAGE_OF[program]} />
        </div>
      </div>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <FirstRequest hash={hash} />
        <button type="button" className="button button-primary" onClick={onDone}>
          I have the key
        </button>
      </div>
    </div>
  );
}

/** The first use of this secret; after a rotation, the old one may go on for a while. */
function FirstRequest({ hash }: { hash: string }) {
  const asked = useQuery({
    queryKey: ['key', hash, 'first-request'],
    // Another secret of the key is another question.
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const params = { query: { search: hash } };
      const { data } = await bodyOf<{ data: { hash: string; secret_last_used_at: string | null }[] }>(
        api.GET('/admin/v1/keys', { params, signal }),
      );
      return data.find((key) => key.hash === hash)?.secret_last_used_at ?? null;
    },
    refetchInterval: ({ state }) => (state.data ? false : ASK_EVERY_MS),
  });
  const isUsed = Boolean(asked.data);
  if (asked.error && !isUsed) return <ErrorNotice error={asked.error} onRetry={() => void asked.refetch()} />;
  return (
    <Spoken as="p" className={`flex items-center gap-2 ${isUsed ? 'text-good' : 'text-dim'}`}>
      {isUsed ? <CircleCheck size={17} aria-hidden /> : <LoaderCircle size={17} aria-hidden className="animate-spin" />}
      {isUsed ? 'Its first request has come.' : 'Waiting for its first request …'}
    </Spoken>
  );
}
