/** Saved views of a page: what is looked at now gets a name, and is found again by it. */

import { Bookmark, Trash2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { MAX_NAME_LENGTH, removeView, saveView, useViews } from '../views.ts';
import { IconButton } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';

interface SavedViewsProps {
  /** Path of the page. */
  path: string;
  onOpen(address: string): void;
}

export function SavedViews({ path, onOpen }: SavedViewsProps) {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const views = useViews(path);

  function save(event: FormEvent) {
    event.preventDefault();
    if (name.trim() === '') return;
    saveView({ name: name.trim(), address: path + location.search });
    setName('');
  }

  function open(address: string) {
    setOpen(false);
    onOpen(address);
  }

  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        <Bookmark size={14} aria-hidden />
        Views
      </button>
      <Dialog title="Saved views" isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="flex flex-col gap-5">
          {views.length > 0 && (
            <ul aria-label="Saved views" className="flex flex-col divide-y rounded-lg border">
              {views.map((view) => (
                <li key={view.name} className="flex min-h-10 items-center gap-2 px-3">
                  <button
                    type="button"
                    className="min-w-0 flex-1 truncate py-2 text-left hover:text-accent"
                    onClick={() => open(view.address)}
                  >
                    {view.name}
                  </button>
                  <IconButton label={`Remove ${view.name}`} icon={Trash2} onClick={() => removeView(view)} />
                </li>
              ))}
            </ul>
          )}
          <form className="flex items-end gap-2" onSubmit={save}>
            <div className="min-w-0 flex-1">
              <Field
                label="Name of what is shown now"
                value={name}
                onChange={setName}
                maxLength={MAX_NAME_LENGTH}
                placeholder="Failures of the week"
                data-autofocus
              />
            </div>
            <button type="submit" className="button button-primary" disabled={name.trim() === ''}>
              Save
            </button>
          </form>
          <p className="text-dim">Views are kept in this browser. A link to a page shows the same to others.</p>
        </div>
      </Dialog>
    </>
  );
}
