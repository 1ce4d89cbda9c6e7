/** Saved views of a page: what is looked at now gets a name, and is found again by it. */

import { useMutation } from '@tanstack/react-query';
import { Bookmark, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ApiError } from '../api.ts';
import type { LocalView } from '../local-views.ts';
import { useSession } from '../session.ts';
import { MAX_NAME_LENGTH, NAME_TAKEN, pageOf, useViews } from '../views.ts';
import { IconButton } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { ErrorNotice } from './states.tsx';

interface SavedViewsProps {
  /** Path of the page. */
  path: string;
  onOpen(address: string): void;
}

export function SavedViews({ path, onOpen }: SavedViewsProps) {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const { asked, views, isViewer, save, remove } = useViews();
  const { isOperator } = useSession();
  const own = views.filter(({ address }) => pageOf(address) === path);
  const saving = useMutation({
    mutationFn: ({ mayReplace, ...view }: LocalView & { mayReplace: boolean }) => save(view, mayReplace),
    // The next name may have been typed meanwhile.
    onSuccess: (_, saved) => setName((typed) => (typed.trim() === saved.name ? '' : typed)),
    // Another browser may have taken the name since the list came.
    onError: () => void asked.refetch(),
  });
  const isTaken =
    saving.error instanceof ApiError && saving.error.code === NAME_TAKEN && saving.variables?.name === name.trim();
  const removing = useMutation({ mutationFn: remove });
  const error = removing.error ?? saving.error;

  function openDialog() {
    setOpen(true);
    saving.reset();
    removing.reset();
    // Another browser may have saved some since.
    void asked.refetch();
  }

  function open(address: string) {
    setOpen(false);
    onOpen(address);
  }

  return (
    <>
      <button type="button" className="button" onClick={openDialog}>
        <Bookmark size={14} aria-hidden />
        Views
      </button>
      <Dialog title="Saved views" isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="flex flex-col gap-5">
          {asked.error && <ErrorNotice error={asked.error} onRetry={() => void asked.refetch()} />}
          {own.length > 0 && (
            <ul aria-label="Saved views" className="flex flex-col divide-y rounded-lg border">
              {own.map((view) => (
                <li key={view.id ?? view.name} className="flex min-h-10 items-center gap-2 px-3">
                  <button
                    type="button"
                    className="min-w-0 flex-1 truncate py-2 text-left hover:text-accent"
                    onClick={() => open(view.address)}
                  >
                    {view.name}
                  </button>
                  {view.id === undefined && <span className="text-xs text-dim">in this browser</span>}
                  {(view.id === undefined || !isViewer) && (
                    <IconButton label={`Remove ${view.name}`} icon={Trash2} onClick={() => removing.mutate(view)} />
                  )}
                </li>
              ))}
            </ul>
          )}
          <form
            className="flex items-end gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              const view = { name: name.trim(), address: path + location.search };
              if (view.name !== '') saving.mutate({ ...view, mayReplace: isTaken });
            }}
          >
            <div className="min-w-0 flex-1">
              <Field
                label="Name of what is shown now"
                value={name}
                onChange={(next) => {
                  setName(next);
                  if (saving.error) saving.reset();
                }}
                maxLength={MAX_NAME_LENGTH}
                placeholder="Failures of the week"
                data-autofocus
              />
            </div>
            <button type="submit" className="button button-primary" disabled={name.trim() === '' || saving.isPending}>
              {isTaken ? 'Replace' : 'Save'}
            </button>
          </form>
          {error && <ErrorNotice error={error} />}
          <p className="text-dim">
            {isViewer
              ? 'What viewers save is kept in this browser.'
              : isOperator
                ? 'All operators see these views, in every browser.'
                : 'Views are kept for the key, in every browser.'}{' '}
            A link to a page shows the same to others.
          </p>
        </div>
      </Dialog>
    </>
  );
}
