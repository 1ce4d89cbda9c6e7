/** Command palette: finds pages, keys, models, a request by its id, and actions. */

import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider, Dialog } from '@ariakit/react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Activity, Boxes, Keyboard, KeyRound, LogOut, type LucideIcon, SunMoon } from 'lucide-react';
import { useState } from 'react';
import { foundKeys } from '../keys.ts';
import { modelList } from '../pages/models/query.ts';
import { useSettled } from '../parts/use-settled.ts';
import { useSession } from '../session.ts';
import { toggleTheme } from '../theme.ts';
import { useEntries } from './entries.ts';

interface Command {
  id: string;
  label: string;
  kind: string;
  icon: LucideIcon;
  run(): void;
}

const MAX_SHOWN = 12;
/** What may be the id of a request. */
const REQUEST_ID = /^[\w-]{12,100}$/;

interface PaletteProps {
  onClose(): void;
  onHelp(): void;
}

export function Palette({ onClose, onHelp }: PaletteProps) {
  const [typed, setTyped] = useState('');
  const commands = useCommands(typed.trim(), onHelp);
  return (
    <Dialog
      open
      onClose={onClose}
      unmountOnHide
      backdrop={<div className="bg-black/40" />}
      aria-label="Commands"
      className="fixed inset-x-3 top-[12vh] z-50 mx-auto flex max-h-[70vh] max-w-xl flex-col overflow-hidden rounded-xl border bg-raised shadow-2xl"
    >
      <ComboboxProvider open setValue={setTyped}>
        <Combobox
          autoSelect="always"
          autoFocus
          placeholder="Page, key, model, id of a request, action …"
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

function useCommands(typed: string, onHelp: () => void): Command[] {
  const { isOperator, isAdmin, signOut } = useSession();
  const entries = useEntries();
  const navigate = useNavigate();
  const search = useSettled(typed);
  const keys =
    useQuery({ ...foundKeys({ search, isWhole: true }, MAX_SHOWN), enabled: isOperator && search !== '' }).data ?? [];
  const models = useQuery(modelList).data ?? [];
  const pages: Command[] = entries.map(({ to, label, icon }) => ({
    ...{ id: `page ${to}`, label, kind: 'page', icon },
    run: () => void navigate({ to }),
  }));
  const actions: Command[] = [
    ...(isAdmin
      ? [
          {
            ...{ id: 'create', label: 'Create a key', kind: 'action', icon: KeyRound },
            run: () => void navigate({ to: '/keys', search: { create: true } }),
          },
        ]
      : []),
    { id: 'theme', label: 'Change the theme', kind: 'action', icon: SunMoon, run: toggleTheme },
    { id: 'help', label: 'Show the keyboard', kind: 'action', icon: Keyboard, run: onHelp },
    { id: 'out', label: 'Sign out', kind: 'action', icon: LogOut, run: () => void signOut() },
  ];
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const found = [...pages, ...actions].filter(({ label }) => fits(label));
  if (words.length === 0) return found;
  const keyCommands = keys.map(
    ({ name, hash }): Command => ({
      ...{ id: `key ${hash}`, label: name, kind: 'key', icon: KeyRound },
      run: () => void navigate({ to: '/keys', search: { open: hash } }),
    }),
  );
  const foundModels = models
    .filter(({ id, name }) => fits(`${id} ${name}`))
    .map(
      ({ id }): Command => ({
        ...{ id: `model ${id}`, label: id, kind: 'model', icon: Boxes },
        run: () => void navigate({ to: '/models', search: { open: id } }),
      }),
    );
  const request: Command[] = REQUEST_ID.test(typed)
    ? [
        {
          ...{ id: 'request', label: typed, kind: 'open the request', icon: Activity },
          run: () => void navigate({ to: '/requests', search: { open: typed } }),
        },
      ]
    : [];
  return [...found, ...keyCommands, ...foundModels.slice(0, MAX_SHOWN), ...request].slice(0, 2 * MAX_SHOWN);
}
