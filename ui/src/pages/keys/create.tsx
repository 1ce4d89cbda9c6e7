/** Creation of a key, beside the equal command; then the key, once, with snippets and a tick for its first request. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { type KeyView, keyList } from '../../keys.ts';
import { Code } from '../../parts/code.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Segments } from '../../parts/segments.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { NewSecret } from './new-secret.tsx';
import { bodyOfKey, callOfKey, commandOfKey, type NewKey, NO_KEY } from './settings.ts';

const FORMS = ['Command', 'API'] as const;

interface Created {
  data: KeyView;
  key: string;
}

export function CreateKey({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const queries = useQueryClient();
  const [wanted, setWanted] = useState<NewKey>(NO_KEY);
  const [form, setForm] = useState<(typeof FORMS)[number]>('Command');
  const creation = useMutation({
    // The gateway checks what is typed, and names the field that is wrong.
    mutationFn: () => bodyOf<Created>(api.POST('/admin/v1/keys', { body: bodyOfKey(wanted) as { name: string } })),
    onSuccess: () => queries.invalidateQueries(keyList),
  });
  const change = (next: Partial<NewKey>) => setWanted((before) => ({ ...before, ...next }));

  function close() {
    setWanted(NO_KEY);
    creation.reset();
    onClose();
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    creation.mutate();
  }

  const { error, data: created } = creation;
  return (
    <Dialog
      title={created ? `The key ${created.data.name}` : 'Create a key'}
      isOpen={isOpen}
      onClose={close}
      isKept={created !== undefined}
      wide
    >
      {created ? (
        <NewSecret secret={created.key} hash={created.data.hash} models={created.data.models} onDone={close} />
      ) : (
        <div className="grid gap-6 md:grid-cols-2">
          <form className="flex flex-col gap-4" onSubmit={submit}>
            <Field
              label="Name"
              value={wanted.name}
              onChange={(name) => change({ name })}
              error={error}
              param="name"
              placeholder="laptop"
              required
              data-autofocus
            />
            <div className="grid grid-cols-2 gap-3">
              <Field
                label="Owner"
                value={wanted.owner}
                onChange={(owner) => change({ owner })}
                error={error}
                param="owner"
                placeholder="Ana"
              />
              <Field
                label="Tags"
                value={wanted.tags}
                onChange={(tags) => change({ tags })}
                error={error}
                param="tags"
                placeholder="team=search"
              />
            </div>
            <Field
              label="Models"
              value={wanted.models}
              onChange={(models) => change({ models })}
              error={error}
              param="models"
              placeholder="openai/*, anthropic/claude-*"
              hint="Globs, with commas in between. Empty means all."
            />
            <div className="grid grid-cols-2 gap-3">
              <Field
                label="Budget of a month"
                value={wanted.monthly}
                onChange={(monthly) => change({ monthly })}
                error={error}
                param="budgets.month"
                placeholder="25.00"
                inputMode="decimal"
              />
              <Field
                label="Budget of a day"
                value={wanted.daily}
                onChange={(daily) => change({ daily })}
                error={error}
                param="budgets.day"
                placeholder="5.00"
                inputMode="decimal"
              />
            </div>
            <div className="grid grid-cols-3 gap-3">
              <Field
                label="Requests/min"
                value={wanted.rpm}
                onChange={(rpm) => change({ rpm })}
                error={error}
                param="limits.requests_per_minute"
                inputMode="numeric"
              />
              <Field
                label="Tokens/min"
                value={wanted.tpm}
                onChange={(tpm) => change({ tpm })}
                error={error}
                param="limits.tokens_per_minute"
                inputMode="numeric"
              />
              <Field
                label="At once"
                value={wanted.concurrent}
                onChange={(concurrent) => change({ concurrent })}
                error={error}
                param="limits.concurrent_requests"
                inputMode="numeric"
              />
            </div>
            <Field
              label="Expires"
              type="date"
              value={wanted.expires}
              onChange={(expires) => change({ expires })}
              error={error}
              param="expires_at"
            />
            <label className="flex items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-[var(--accent)]"
                checked={wanted.readOnly}
                onChange={(event) => change({ readOnly: event.target.checked })}
              />
              Only reads: no requests to models
            </label>
            {error && <ErrorNotice error={error} />}
            <button type="submit" className="button button-primary self-start" disabled={creation.isPending}>
              {creation.isPending ? 'Creating …' : 'Create'}
            </button>
          </form>
          <div className="min-w-0">
            <div className="mb-2 flex items-center justify-between gap-2">
              <h2>The same as</h2>
              <Segments label="Form" values={FORMS} value={form} onChange={setForm} />
            </div>
            <div className="rounded-lg border bg-page">
              <Code
                language="shell"
                text={form === 'Command' ? commandOfKey(wanted) : callOfKey(wanted, location.origin)}
              />
            </div>
          </div>
        </div>
      )}
    </Dialog>
  );
}
