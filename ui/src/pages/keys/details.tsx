/** One key in all details, what can be done with it, and what was done to it. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf } from '../../api.ts';
import { type KeyView, keyList, tagsOf } from '../../keys.ts';
import { Budgets, budgetsOfKey, SpentByPeriod, spentByKey } from '../../parts/budgets.tsx';
import { CopyButton } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { History } from '../../parts/history.tsx';
import { limitRows } from '../../parts/limits.ts';
import { Time } from '../../parts/numbers.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { useSession } from '../../session.ts';
import { NewSecret } from './new-secret.tsx';
import { KeyState } from './page.tsx';

export function KeyDetails({ view }: { view: KeyView }) {
  const { isAdmin } = useSession();
  const rows: [string, React.ReactNode][] = [
    ['State', <KeyState key="state" state={view.state} />],
    ['Origin', view.origin],
    ['Owner', view.owner ?? '—'],
    ['Tags', tagsOf(view).join(', ') || '—'],
    ...Object.entries(view.metadata).map(([name, value]): [string, string] => [name, value]),
    ['Models', view.models?.join(', ') ?? 'all'],
    ['Surfaces', view.surfaces?.join(', ') ?? 'all'],
    ['Only reads', view.read_only ? 'yes' : 'no'],
    ['Addresses', view.cidrs?.join(', ') ?? 'any'],
    ...limitRows(view.limits),
    ['Created', view.created_at && view.origin === 'store' ? <Time key="created" at={view.created_at} /> : '—'],
    ['Expires', view.expires_at ? <Time key="expires" at={view.expires_at} /> : 'never'],
    ['Old secret valid until', view.previous_until ? <Time key="previous" at={view.previous_until} /> : '—'],
  ];
  return (
    <div className="flex flex-col gap-6">
      <div className="flex items-center gap-1">
        <code className="min-w-0 truncate text-dim">{view.hash}</code>
        <CopyButton text={view.hash} label="Copy the hash" />
        <Link to="/use" search={{ key: view.hash }} className="button ml-auto">
          Its use
        </Link>
      </div>
      {isAdmin && view.origin === 'store' && view.state !== 'revoked' && <Actions view={view} />}
      <section>
        <h2 className="mb-2">Budgets</h2>
        <Budgets uses={budgetsOfKey(view)} />
      </section>
      <SpentByPeriod spent={spentByKey(view)} />
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-dim">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <History subject={view.hash} since="since it was created" />
    </div>
  );
}

/** Seconds for which the old secret stays valid after a rotation. */
const OVERLAP_S = 24 * 3600;

function Actions({ view }: { view: KeyView }) {
  const queries = useQueryClient();
  const [isRevoking, setRevoking] = useState(false);
  const [typed, setTyped] = useState('');
  const params = { path: { hash: view.hash } };
  const refresh = () => queries.invalidateQueries(keyList);
  const switching = useMutation({
    mutationFn: () =>
      api.PATCH('/admin/v1/keys/{hash}', { params, body: { disabled: view.state !== 'disabled' } as never }),
    onSuccess: refresh,
  });
  const rotation = useMutation({
    mutationFn: () =>
      bodyOf<{ data: KeyView; key: string }>(
        api.POST('/admin/v1/keys/{hash}/rotate', { params, body: { overlap: OVERLAP_S } as never }),
      ),
    onSuccess: refresh,
  });
  const revocation = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/keys/{hash}', { params }),
    onSuccess: () => {
      setRevoking(false);
      return refresh();
    },
  });
  const error = switching.error ?? rotation.error ?? revocation.error;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <button type="button" className="button" onClick={() => rotation.mutate()} disabled={rotation.isPending}>
          Rotate, old one valid for a day
        </button>
        <button type="button" className="button" onClick={() => switching.mutate()} disabled={switching.isPending}>
          {view.state === 'disabled' ? 'Enable' : 'Disable'}
        </button>
        <button type="button" className="button button-danger" onClick={() => setRevoking(true)}>
          Revoke …
        </button>
      </div>
      {error && <ErrorNotice error={error} />}
      <Dialog title={`Revoke ${view.name}`} isOpen={isRevoking} onClose={() => setRevoking(false)}>
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            if (typed === view.name) revocation.mutate();
          }}
        >
          <p>Programs with this key are refused within a second. It cannot be undone.</p>
          <Field label={`Type ${view.name}`} value={typed} onChange={setTyped} autoComplete="off" />
          <button type="submit" className="button button-danger self-start" disabled={typed !== view.name}>
            Revoke the key
          </button>
        </form>
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
