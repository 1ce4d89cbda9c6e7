/** Creation of a key; then the key, once, with snippets and a tick for its first request. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';
import { type KeyView, keyQueries, tagsOf } from '../../keys.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { KeyFields } from './form.tsx';
import { NewSecret } from './new-secret.tsx';
import { bodyOfKey, callOfKey, commandOfKey, type KeyForm, NO_KEY } from './settings.ts';

interface Created {
  data: KeyView;
  key: string;
}

interface CreateKeyProps {
  /** By the configuration. */
  defaultTags: Record<string, string>;
  isOpen: boolean;
  onClose(): void;
}

export function CreateKey({ defaultTags, isOpen, onClose }: CreateKeyProps) {
  const before: KeyForm = { ...NO_KEY, tags: tagsOf({ tags: defaultTags }).join(', ') };
  const queries = useQueryClient();
  const creation = useMutation({
    mutationFn: (form: KeyForm) =>
      bodyOf<Created>(api.POST('/admin/v1/keys', { body: bodyOfKey(form, before) as { name: string } })),
    onSuccess: () => queries.invalidateQueries(keyQueries),
  });

  function close() {
    creation.reset();
    onClose();
  }

  const { data: created } = creation;
  return (
    <Dialog
      title={created ? `The key ${created.data.name}` : 'Create a key'}
      isOpen={isOpen}
      onClose={close}
      isKept
      mustStay={() => queries.isMutating() > 0}
      wide
    >
      {created ? (
        <NewSecret secret={created.key} hash={created.data.hash} models={created.data.models} onDone={close} />
      ) : (
        <KeyFields
          before={before}
          tagsHint={before.tags && `${before.tags} (default)`}
          error={creation.error}
          isPending={creation.isPending}
          action={creation.isPending ? 'Creating …' : 'Create'}
          commandOf={(form) => commandOfKey(form, before)}
          callOf={(form) => callOfKey(bodyOfKey(form, before))}
          onSend={creation.mutate}
        />
      )}
    </Dialog>
  );
}
