/** Form of a key's settings, beside the equal command and call. */

import type { FormEvent } from 'react';
import { Field } from '../../parts/field.tsx';
import { LIMITS } from '../../parts/limits.ts';
import { SameAs } from '../../parts/same-as.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import type { Call } from '../../shell.ts';
import { useTyped } from '../../typed.ts';
import { Advanced } from './advanced.tsx';
import { BUDGETS, beyondCommand, type KeyForm } from './settings.ts';

interface KeyFieldsProps {
  /** Hash of the key that is changed. */
  hash?: string;
  before: KeyForm;
  tagsHint?: string | undefined;
  /** Of the last attempt. */
  error: unknown;
  isPending: boolean;
  /** Words of the button. */
  action: string;
  commandOf(form: KeyForm): string;
  callOf(form: KeyForm): Call;
  /** Whether there is something to send. */
  canSend?(form: KeyForm): boolean;
  onSend(form: KeyForm): void;
}

/** The gateway checks what is typed, and names the field that is wrong. */
export function KeyFields({
  hash = 'new',
  before,
  tagsHint,
  error,
  isPending,
  action,
  commandOf,
  callOf,
  canSend = () => true,
  onSend,
}: KeyFieldsProps) {
  const [changes, setChanges] = useTyped<Partial<KeyForm>>(`key ${hash}`, {});
  const form = { ...before, ...changes };
  const change = (next: Partial<KeyForm>) => setChanges((earlier) => ({ ...earlier, ...next }));

  function submit(event: FormEvent) {
    event.preventDefault();
    onSend(form);
  }

  return (
    <div className="grid gap-6 md:grid-cols-2">
      <form className="flex min-w-0 flex-col gap-4" onSubmit={submit}>
        <Field
          label="Name"
          value={form.name}
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
            value={form.owner}
            onChange={(owner) => change({ owner })}
            error={error}
            param="owner"
            placeholder="Ana"
          />
          <Field
            label="Tags"
            value={form.tags}
            onChange={(tags) => change({ tags })}
            error={error}
            param="tags"
            placeholder="team=search"
            hint={tagsHint}
          />
        </div>
        <Field
          label="Models"
          value={form.models}
          onChange={(models) => change({ models })}
          error={error}
          param="models"
          placeholder="openai/*, anthropic/claude-*"
          hint="Globs, with commas in between. Empty means all."
        />
        <div className="grid grid-cols-2 gap-3">
          {BUDGETS.map(({ period, label, example }) => (
            <Field
              key={period}
              label={label}
              value={form.budgets[period]}
              onChange={(usd) => change({ budgets: { ...form.budgets, [period]: usd } })}
              error={error}
              param={`budgets.${period}`}
              placeholder={example}
              inputMode="decimal"
            />
          ))}
        </div>
        <div className="grid grid-cols-3 gap-3">
          {LIMITS.map(({ limit, label }) => (
            <Field
              key={limit}
              label={label}
              value={form.limits[limit]}
              onChange={(count) => change({ limits: { ...form.limits, [limit]: count } })}
              error={error}
              param={`limits.${limit}`}
              inputMode="numeric"
            />
          ))}
        </div>
        <Field
          label="Expires"
          type="date"
          value={form.expires}
          onChange={(expires) => change({ expires })}
          error={error}
          param="expires_at"
        />
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-[var(--accent)]"
            checked={form.readOnly}
            onChange={(event) => change({ readOnly: event.target.checked })}
          />
          Read only: no requests to models
        </label>
        <Advanced {...{ form, before, error }} onChange={change} />
        {error !== null && <ErrorNotice error={error} />}
        <button
          type="submit"
          className="button button-primary self-start"
          disabled={isPending || !canSend(form)}
          aria-busy={isPending}
        >
          {action}
        </button>
      </form>
      <SameAs command={commandOf(form)} call={callOf(form)} note={beyondCommand(form, before)} />
    </div>
  );
}
