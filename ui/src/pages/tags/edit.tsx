/** Limits and budgets of a tag, beside the equal command. */

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { api, bodyOf } from '../../api.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { LIMITS } from '../../parts/limits.ts';
import { SameAs } from '../../parts/same-as.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { useSettled } from '../../parts/use-settled.ts';
import type { Period } from '../../periods.ts';
import { saveShared } from '../../shared-changes.ts';
import { useTyped } from '../../typed.ts';
import {
  bodyOfTag,
  changesOfOthers,
  commandOfTag,
  formOf,
  isEmptyForm,
  isTag,
  type Limit,
  pathOfTag,
  type TagTexts,
} from './form.ts';
import { oneTag, type TagView, tagQueries } from './query.ts';

const BUDGETS: readonly { period: Period; label: string }[] = [
  { period: 'day', label: 'Daily budget' },
  { period: 'week', label: 'Weekly budget' },
  { period: 'month', label: 'Monthly budget' },
  { period: 'total', label: 'Total budget' },
];

const NO_TEXTS: TagTexts = { limits: {}, budgets: {} };

interface EditTagProps {
  /** Absent for a tag that is still to be named. */
  view?: TagView;
  isOpen: boolean;
  onClose(): void;
}

export function EditTag({ view, isOpen, onClose }: EditTagProps) {
  return (
    <Dialog title={view ? `Limits of ${view.tag}` : 'Limit a tag'} isOpen={isOpen} onClose={onClose} isKept wide>
      <Form view={view} onDone={onClose} />
    </Dialog>
  );
}

/** What is not changed here stays, also of a tag that is named, and beside another tab. */
function Form({ view: opened, onDone }: { view: TagView | undefined; onDone(): void }) {
  const queries = useQueryClient();
  const [named, setNamed] = useTyped('tag', '');
  const [changed, setChanged] = useTyped(`limits of ${opened?.tag ?? 'a tag'}`, NO_TEXTS);
  /** What the form has shown of the fields that were typed into. */
  const [seen, setSeen] = useTyped(`limits of ${opened?.tag ?? 'a tag'} seen`, NO_TEXTS);
  const tag = opened?.tag ?? named.trim();
  const settled = useSettled(tag);
  const found = useQuery({ ...oneTag(settled), enabled: !opened && isTag(settled), staleTime: 0 });
  const view = opened ?? (found.data?.tag === tag ? found.data : undefined);
  const before = formOf(view);
  const form = {
    tag,
    limits: { ...before.limits, ...changed.limits },
    budgets: { ...before.budgets, ...changed.budgets },
  };
  function change(part: 'limits' | 'budgets', name: Limit | Period, text: string) {
    setChanged({ ...changed, [part]: { ...changed[part], [name]: text } });
    setSeen({ ...seen, [part]: { [name]: (before[part] as TagTexts['limits'])[name], ...seen[part] } });
  }
  const saving = useMutation({
    mutationFn: () => {
      const params = { path: { tag } };
      const body = bodyOfTag(form, before);
      return saveShared({
        read: async () => (await bodyOf<{ data: TagView }>(api.GET('/admin/v1/tags/{tag}', { params }))).data,
        changesOfOthers(now) {
          const shown = formOf(now);
          const others = changesOfOthers(body, shown, seen);
          if (others.length > 0) setSeen(shown);
          return others;
        },
        // The gateway checks what is typed, and names the field that is wrong.
        send: (now) =>
          api.PATCH('/admin/v1/tags/{tag}', { params, body: { ...body, unchanged_since: now.updated_at } as never }),
      });
    },
    onSuccess: async () => {
      void queries.invalidateQueries({ queryKey: ['audit', tag] });
      await queries.invalidateQueries(tagQueries);
      onDone();
    },
  });
  const { error } = saving;

  function submit(event: FormEvent) {
    event.preventDefault();
    saving.mutate();
  }

  return (
    <div className="grid gap-6 md:grid-cols-2">
      <form className="flex flex-col gap-4" onSubmit={submit}>
        {!opened && (
          <Field
            label="Tag"
            value={named}
            onChange={setNamed}
            error={error}
            param="tag"
            placeholder="team=search"
            pattern="\s*[^=\s]+=[^=\s]+\s*"
            title="name=value"
            required
            data-autofocus
          />
        )}
        <div className="grid grid-cols-2 gap-3">
          {BUDGETS.map(({ period, label }) => (
            <Field
              key={period}
              label={label}
              value={form.budgets[period]}
              onChange={(next) => change('budgets', period, next)}
              error={error}
              param={`budgets.${period}`}
              placeholder="no budget"
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
              onChange={(next) => change('limits', limit, next)}
              error={error}
              param={`limits.${limit}`}
              placeholder="no limit"
              inputMode="numeric"
            />
          ))}
        </div>
        <p className="text-dim">USD, in UTC. All keys with the tag share them, beside their own limits and budgets.</p>
        {error && <ErrorNotice error={error} />}
        {found.error && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
        <button
          type="submit"
          className="button button-primary self-start"
          disabled={saving.isPending || isEmptyForm(form) || (isTag(tag) && (!view || found.isFetching))}
        >
          Save
        </button>
      </form>
      <SameAs
        command={commandOfTag(form, before)}
        call={{ path: pathOfTag(tag || 'NAME=VALUE'), method: 'PATCH', body: bodyOfTag(form, before) }}
      />
    </div>
  );
}
