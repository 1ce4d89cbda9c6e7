/** Dialog that finds a command by what is typed, and runs it. */

import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider, Dialog } from '@ariakit/react';
import type { LucideIcon } from 'lucide-react';
import { region } from './announcer.tsx';

export interface Command {
  id: string;
  label: string;
  kind: string;
  icon: LucideIcon;
  run(): void;
}

interface CommandDialogProps {
  placeholder: string;
  /** Those for what is typed. */
  commands: readonly Command[];
  onType(typed: string): void;
  onClose(): void;
}

export function CommandDialog({ placeholder, commands, onType, onClose }: CommandDialogProps) {
  return (
    <Dialog
      open
      onClose={onClose}
      unmountOnHide
      getPersistentElements={() => [region]}
      backdrop={<div className="bg-black/40" />}
      aria-label="Commands"
      className="fixed inset-x-3 top-[12vh] z-50 mx-auto flex max-h-[70vh] max-w-xl flex-col overflow-hidden rounded-xl border bg-raised shadow-2xl"
    >
      <ComboboxProvider open setValue={onType}>
        <Combobox
          autoSelect="always"
          autoFocus
          placeholder={placeholder}
          aria-label="Find"
          className="w-full border-b bg-transparent px-4 py-3 text-[1.05rem] outline-none placeholder:text-faint"
        />
        <ComboboxList alwaysVisible aria-label="Commands" className="min-h-0 overflow-y-auto p-1.5">
          {commands.map(({ id, label, kind, icon: Icon, run }) => (
            <ComboboxItem
              key={id}
              value={id}
              setValueOnClick={false}
              hideOnClick={false}
              onClick={() => {
                onClose();
                run();
              }}
              className="flex items-center gap-3 rounded-md px-3 py-2 data-[active-item]:bg-hover"
            >
              <Icon size={15} aria-hidden className="shrink-0 text-dim" />
              <span className="min-w-0 flex-1 truncate">{label}</span>
              <span className="text-dim">{kind}</span>
            </ComboboxItem>
          ))}
        </ComboboxList>
        {commands.length === 0 && <p className="px-4 py-6 text-center text-dim">Nothing is like that.</p>}
      </ComboboxProvider>
    </Dialog>
  );
}
