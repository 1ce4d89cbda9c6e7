/** Change of a key's settings. What others change meanwhile stays, because only what is changed here is sent. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { type KeyView, keyQueries } from '../../keys.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { type OtherChange, saveShared } from '../../shared-changes.ts';
import { useTyped } from '../../typed.ts';
import { KeyFields } from './form.tsx';
import { bodyOfKey, callOfKey, commandOfChange, formOfKey, type KeyForm } from './settings.ts';

interface EditKeyProps {
  view: KeyView;
  isOpen: boolean;
  onClose(): void;
}

export function EditKey({ view, isOpen, onClose }: EditKeyProps) {
  return (
    <Dialog title={`Change ${view.name}`} isOpen={isOpen} onClose={onClose} isKept wide>
      <Form view={view} onDone={onClose} />
    </Dialog>
  );
}

type StoredKey = KeyView & { updated_at: string };

function Form({ view, onDone }: { view: KeyView; onDone(): void }) {
  const queries = useQueryClient();
  const { hash } = view;
  // As it was when the form was opened: the list is read again beside it.
  const [before] = useTyped(`key ${hash} before`, () => formOfKey(view));
  /** What the form has said of the key, changes of others included. */
  const [known, setKnown] = useTyped(`key ${hash} known`, before);

  async function save(form: KeyForm): Promise<void> {
    const params = { path: { hash } };
    const body = bodyOfKey(form, before);
    await saveShared({
      read: async () => (await bodyOf<{ data: StoredKey }>(api.GET('/admin/v1/keys/{hash}', { params }))).data,
      changesOfOthers(now) {
        const others = changesOfOther(body, bodyOfKey(formOfKey(now), known));
        if (others.length > 0) setKnown(formOfKey(now));
        return others;
      },
      send: (now) =>
        api.PATCH('/admin/v1/keys/{hash}', { params, body: { ...body, unchanged_since: now.updated_at } as never }),
    });
  }

  const saving = useMutation({
    mutationFn: (form: KeyForm) => save(form),
    onSuccess: async () => {
      void queries.invalidateQueries({ queryKey: ['audit', hash] });
      await queries.invalidateQueries(keyQueries);
      onDone();
    },
  });
  return (
    <KeyFields
      hash={hash}
      before={before}
      error={saving.error}
      isPending={saving.isPending}
      action="Save"
      commandOf={(form) => commandOfChange(form, before)}
      callOf={(form) => callOfKey(bodyOfKey(form, before), hash)}
      canSend={(form) => Object.keys(bodyOfKey(form, before)).length > 0}
      onSend={saving.mutate}
    />
  );
}

/** Settings that both changed, to different values. */
function changesOfOther(mine: object, other: object, place = ''): OtherChange[] {
  return Object.entries(other).flatMap(([name, value]) => {
    const path = place + name;
    const own = (mine as Record<string, unknown>)[name];
    if (own === undefined || JSON.stringify(own) === JSON.stringify(value)) return [];
    return isNested(own) && isNested(value) ? changesOfOther(own, value, `${path}.`) : [{ path, value }];
  });
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
