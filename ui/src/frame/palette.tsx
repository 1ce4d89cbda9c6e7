/** Command palette: finds pages, keys, models, a request by its id, and actions. */

import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Activity, Boxes, Keyboard, KeyRound, LogOut, SunMoon } from 'lucide-react';
import { useState } from 'react';
import { foundKeys } from '../keys.ts';
import { modelNames } from '../pages/models/query.ts';
import { type Command, CommandDialog } from '../parts/command-dialog.tsx';
import { useSettled } from '../parts/use-settled.ts';
import { useSession } from '../session.ts';
import { toggleTheme } from '../theme.ts';
import { useEntries } from './entries.ts';

const MAX_SHOWN = 12;
/** Text that may be the id of a request. */
const REQUEST_ID = /^[\w-]{12,100}$/;

interface PaletteProps {
  onClose(): void;
  onHelp(): void;
  onLeave(): void;
}

export function Palette({ onClose, ...actions }: PaletteProps) {
  const [typed, setTyped] = useState('');
  const commands = useCommands(typed.trim(), actions);
  return (
    <CommandDialog
      placeholder="Page, key, model, id of a request, action …"
      commands={commands}
      onType={setTyped}
      onClose={onClose}
    />
  );
}

function useCommands(typed: string, { onHelp, onLeave }: Omit<PaletteProps, 'onClose'>): Command[] {
  const { isOperator, isAdmin } = useSession();
  const entries = useEntries();
  const navigate = useNavigate();
  const search = useSettled(typed);
  const keys =
    useQuery({ ...foundKeys({ search, isWhole: true }, MAX_SHOWN), enabled: isOperator && search !== '' }).data ?? [];
  const models = useQuery(modelNames).data ?? [];
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
    { id: 'out', label: 'Sign out', kind: 'action', icon: LogOut, run: onLeave },
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
