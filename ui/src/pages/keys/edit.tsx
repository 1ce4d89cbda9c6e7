/** Change of a key's settings. What others change meanwhile stays, because only what is changed here is sent. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api.ts';
import { type KeyView, keyQueries } from '../../keys.ts';
import { Dialog } from '../../parts/dialog.tsx';
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

function Form({ view, onDone }: { view: KeyView; onDone(): void }) {
  const queries = useQueryClient();
  // As it was when the form was opened: the list is read again beside it.
  const { hash } = view;
  const [before] = useTyped(`key ${hash} before`, () => formOfKey(view));
  const saving = useMutation({
    mutationFn: (form: KeyForm) =>
      api.PATCH('/admin/v1/keys/{hash}', { params: { path: { hash } }, body: bodyOfKey(form, before) as never }),
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
