/** What can be done with a key: change, rotation, disabling and revocation. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { type KeyView, keyQueries } from '../../keys.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { EditKey } from './edit.tsx';
import { NewSecret } from './new-secret.tsx';

type Opened = 'change' | 'rotate' | 'revoke';

export function KeyActions({ view }: { view: KeyView }) {
  const queries = useQueryClient();
  const [opened, setOpened] = useState<Opened>();
  const params = { path: { hash: view.hash } };
  const close = () => setOpened(undefined);
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['audit', view.hash] });
    return queries.invalidateQueries(keyQueries);
  };
  const switching = useMutation({
    mutationFn: () =>
      api.PATCH('/admin/v1/keys/{hash}', { params, body: { disabled: view.state !== 'disabled' } as never }),
    onSuccess: refresh,
  });
  const rotation = useMutation({
    mutationFn: (overlap: number | string) =>
      bodyOf<{ data: KeyView; key: string }>(
        api.POST('/admin/v1/keys/{hash}/rotate', { params, body: { overlap } as never }),
      ),
    onSuccess: () => {
      close();
      return refresh();
    },
  });
  const revocation = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/keys/{hash}', { params }),
    onSuccess: () => {
      close();
      return refresh();
    },
  });

  function open(next: Opened) {
    rotation.reset();
    revocation.reset();
    setOpened(next);
  }

  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <button type="button" className="button" onClick={() => open('change')}>
          Change …
        </button>
        <button type="button" className="button" onClick={() => open('rotate')}>
          Rotate …
        </button>
        <button type="button" className="button" onClick={() => switching.mutate()} disabled={switching.isPending}>
          {view.state === 'disabled' ? 'Enable' : 'Disable'}
        </button>
        <button type="button" className="button button-danger" onClick={() => open('revoke')}>
          Revoke …
        </button>
      </div>
      {switching.error && <ErrorNotice error={switching.error} />}
      <EditKey view={view} isOpen={opened === 'change'} onClose={close} />
      <Dialog title={`Rotate ${view.name}`} isOpen={opened === 'rotate'} onClose={close}>
        <Rotation error={rotation.error} isPending={rotation.isPending} onRotate={rotation.mutate} />
      </Dialog>
      <Dialog title={`Revoke ${view.name}`} isOpen={opened === 'revoke'} onClose={close}>
        <Revocation
          name={view.name}
          error={revocation.error}
          isPending={revocation.isPending}
          onRevoke={revocation.mutate}
        />
      </Dialog>
      <Dialog
        title={`The new secret of ${view.name}`}
        isOpen={rotation.data !== undefined}
        onClose={rotation.reset}
        isKept
        wide
      >
        {rotation.data && (
          <NewSecret secret={rotation.data.key} hash={view.hash} models={view.models} onDone={rotation.reset} />
        )}
      </Dialog>
    </div>
  );
}

const HOUR_S = 3600;

interface RotationProps {
  error: unknown;
  isPending: boolean;
  /** Seconds, or a text that the gateway refuses. */
  onRotate(overlap: number | string): void;
}

function Rotation({ error, isPending, onRotate }: RotationProps) {
  const [hours, setHours] = useState('24');
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        const text = hours.trim();
        onRotate(/^\d{1,6}(\.\d{1,4})?$/.test(text) ? Math.round(Number(text) * HOUR_S) : text);
      }}
    >
      <p>The key gets a new secret. Programs with the old one have time to change to it.</p>
      <Field
        label="Hours for which the old secret stays valid"
        value={hours}
        onChange={setHours}
        hint="Up to 720, which are 30 days. 0 ends it at once, as after a leak."
        inputMode="decimal"
        required
        data-autofocus
      />
      {error !== null && <ErrorNotice error={error} />}
      <button type="submit" className="button button-primary self-start" disabled={isPending}>
        Rotate the key
      </button>
    </form>
  );
}

interface RevocationProps {
  name: string;
  error: unknown;
  isPending: boolean;
  onRevoke(): void;
}

function Revocation({ name, error, isPending, onRevoke }: RevocationProps) {
  const [typed, setTyped] = useState('');
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed === name) onRevoke();
      }}
    >
      <p>Programs with this key are refused within a second. It cannot be undone.</p>
      <Field label={`Type ${name}`} value={typed} onChange={setTyped} autoComplete="off" />
      {error !== null && <ErrorNotice error={error} />}
      <button type="submit" className="button button-danger self-start" disabled={typed !== name || isPending}>
        Revoke the key
      </button>
    </form>
  );
}
