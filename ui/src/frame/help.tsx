/** Help: the keys of all pages. */

import { Dialog } from '../parts/dialog.tsx';
import type { Entry } from './entries.ts';

const KEYS: [keys: string[], meaning: string][] = [
  [['⌘ K', 'Ctrl K'], 'find a page, a key, a model or a request'],
  [['/'], 'search this page, or everything'],
  [['f'], 'filter'],
  [['j', 'k'], 'next and previous row'],
  [['Enter'], 'open the row'],
  [['Esc'], 'close'],
  [['p'], 'pause the list of requests'],
  [['e'], 'export the table'],
  [['t'], 'light or dark theme'],
  [['?'], 'this list'],
];

export function Help({ entries, onClose }: { entries: Entry[]; onClose(): void }) {
  return (
    <Dialog title="Keyboard" isOpen onClose={onClose}>
      <div className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <dl className="grid grid-cols-[auto_1fr] content-start items-center gap-x-4 gap-y-1.5">
          {KEYS.map(([keys, meaning]) => (
            <div key={meaning} className="contents">
              <dt className="flex gap-1">
                {keys.map((key) => (
                  <kbd key={key} className="key">
                    {key}
                  </kbd>
                ))}
              </dt>
              <dd className="text-dim">{meaning}</dd>
            </div>
          ))}
        </dl>
        <dl className="grid grid-cols-[auto_1fr] content-start items-center gap-x-4 gap-y-1.5">
          {entries.map(({ to, label, letter }) => (
            <div key={to} className="contents">
              <dt className="flex gap-1">
                <kbd className="key">g</kbd>
                <kbd className="key">{letter}</kbd>
              </dt>
              <dd className="text-dim">{label}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
