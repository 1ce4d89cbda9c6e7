/** Actions on a key: change, rotation, disabling and revocation. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { type KeyView, keyQueries } from '../../keys.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { SameAs } from '../../parts/same-as.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { quoted } from '../../shell.ts';
import { useTyped } from '../../typed.ts';
import { EditKey } from './edit.tsx';
import { NewSecret } from './new-secret.tsx';
import { callOfKey } from './settings.ts';

type Opened = 'change' | 'rotate' | 'switch' | 'revoke';

export function KeyActions({ view }: { view: KeyView }) {
  const queries = useQueryClient();
  const isDisabled = view.state === 'disabled';
  const [opened, setOpened] = useTyped<Opened | undefined>(`key ${view.hash} opened`, undefined);
  const params = { path: { hash: view.hash } };
  const close = () => setOpened(undefined);
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['audit', view.hash] });
    return queries.invalidateQueries(keyQueries);
  };
  const switching = useMutation({
    mutationFn: () => api.PATCH('/admin/v1/keys/{hash}', { params, body: { disabled: !isDisabled } as never }),
    onSuccess: () => {
      close();
      return refresh();
    },
  });
  const rotation = useMutation({
    mutationFn: (overlap: number | string) =>
      bodyOf<{ data: KeyView & { updated_at: string }; key: string }>(
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
    switching.reset();
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
        <button type="button" className="button" onClick={() => open('switch')}>
          {isDisabled ? 'Enable …' : 'Disable …'}
        </button>
        <button type="button" className="button button-danger" onClick={() => open('revoke')}>
          Revoke …
        </button>
      </div>
      <EditKey view={view} isOpen={opened === 'change'} onClose={close} />
      <Dialog
        title={`Rotate ${view.name}`}
        isOpen={opened === 'rotate'}
        onClose={close}
        mustStay={() => queries.isMutating() > 0}
      >
        <Rotation view={view} error={rotation.error} isPending={rotation.isPending} onRotate={rotation.mutate} />
      </Dialog>
      <Dialog title={`${isDisabled ? 'Enable' : 'Disable'} ${view.name}`} isOpen={opened === 'switch'} onClose={close}>
        <div className="flex flex-col gap-4">
          <p>
            {isDisabled
              ? 'Programs with this key are let in again.'
              : 'Programs with this key are refused until it is enabled again.'}
          </p>
          {switching.error && <ErrorNotice error={switching.error} />}
          <button
            type="button"
            className="button button-primary self-start"
            disabled={switching.isPending}
            onClick={() => switching.mutate()}
          >
            {isDisabled ? 'Enable the key' : 'Disable the key'}
          </button>
          <SameAs
            command={`polygate keys ${isDisabled ? 'enable' : 'disable'} ${quoted(view.name)}`}
            call={callOfKey({ disabled: !isDisabled }, view.hash)}
          />
        </div>
      </Dialog>
      <Dialog title={`Revoke ${view.name}`} isOpen={opened === 'revoke'} onClose={close}>
        <Revocation
          view={view}
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
  view: KeyView;
  error: unknown;
  isPending: boolean;
  /** Seconds, or a text that the gateway refuses. */
  onRotate(overlap: number | string): void;
}

/** Seconds; a text that is no number is left to the gateway. */
function overlapOf(hours: string): number | string {
  const text = hours.trim();
  return /^\d{1,6}(\.\d{1,4})?$/.test(text) ? Math.round(Number(text) * HOUR_S) : text;
}

/** In whole hours where it is. */
function durationOf(overlap: number | string): string {
  if (typeof overlap === 'string') return quoted(overlap);
  if (overlap === 0) return '0';
  return overlap % HOUR_S === 0 ? `${overlap / HOUR_S}h` : `${overlap}s`;
}

function Rotation({ view, error, isPending, onRotate }: RotationProps) {
  const [hours, setHours] = useState('24');
  const overlap = overlapOf(hours);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onRotate(overlap);
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
      <SameAs
        command={`polygate keys rotate ${quoted(view.name)} --overlap ${durationOf(overlap)}`}
        call={{ path: `/admin/v1/keys/${view.hash}/rotate`, body: { overlap } }}
      />
    </form>
  );
}

interface RevocationProps {
  view: KeyView;
  error: unknown;
  isPending: boolean;
  onRevoke(): void;
}

function Revocation({ view: { name, hash }, error, isPending, onRevoke }: RevocationProps) {
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
      <Field label={`Type ${name}`} value={typed} onChange={setTyped} autoComplete="off" data-autofocus />
      {error !== null && <ErrorNotice error={error} />}
      <button type="submit" className="button button-danger self-start" disabled={typed !== name || isPending}>
        Revoke the key
      </button>
      <SameAs
        command={`polygate keys revoke ${quoted(name)}`}
        call={{ path: `/admin/v1/keys/${hash}`, method: 'DELETE' }}
      />
    </form>
  );
}
