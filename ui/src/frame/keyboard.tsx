/** Keyboard of all pages: the palette, `g` and a letter for a page, `/`, `f`, `e`, `t`, and help. */

import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { isTyping } from '../parts/use-list-keys.ts';
import { toggleTheme } from '../theme.ts';
import { useEntries } from './entries.ts';

const Palette = lazy(() => import('./palette.tsx').then((module) => ({ default: module.Palette })));
const Help = lazy(() => import('./help.tsx').then((module) => ({ default: module.Help })));

/** Time in which the letter has to follow `g`. */
const CHORD_MS = 1500;

const PALETTE_KEYS = navigator.platform.startsWith('Mac') ? '⌘ K' : 'Ctrl K';

/** Keys that stand for an element of the page that is shown: the first of these that it has. */
const ELEMENTS: Record<string, readonly string[]> = {
  '/': ['[data-search]'],
  f: ['[data-search]', 'main [role=combobox]'],
};

/** The button that opens the palette is all that is seen of it. */
export function Keyboard({ isNarrow, onLeave }: { isNarrow: boolean; onLeave(): void }) {
  const entries = useEntries();
  const navigate = useNavigate();
  const [shown, setShown] = useState<'palette' | 'help'>();
  const chordAt = useRef(Number.NEGATIVE_INFINITY);

  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        setShown((now) => (now === 'palette' ? undefined : 'palette'));
        return;
      }
      if (isTyping(event)) return;
      const isChord = event.timeStamp - chordAt.current < CHORD_MS;
      chordAt.current = event.key === 'g' && !isChord ? event.timeStamp : Number.NEGATIVE_INFINITY;
      const page = isChord ? entries.find(({ letter }) => letter === event.key) : undefined;
      if (page) {
        // The list of this page must not take the letter, too.
        event.preventDefault();
        event.stopImmediatePropagation();
        void navigate({ to: page.to });
        return;
      }
      const element = ELEMENTS[event.key]
        ?.map((selector) => document.querySelector<HTMLElement>(selector))
        .find(Boolean);
      if (element) {
        event.preventDefault();
        element.focus();
      } else if (event.key === '/') {
        event.preventDefault();
        setShown('palette');
      }
      if (event.key === 'e') document.querySelector<HTMLElement>('[data-export]')?.click();
      if (event.key === 't') toggleTheme();
      if (event.key === '?') setShown('help');
    }
    // Before the lists.
    addEventListener('keydown', onKey, { capture: true });
    return () => removeEventListener('keydown', onKey, { capture: true });
  }, [entries, navigate]);

  const close = () => setShown(undefined);
  return (
    <>
      <button
        type="button"
        title="Find a page, a key, a model, a request or an action"
        onClick={() => setShown('palette')}
        className={`flex min-h-8 shrink-0 items-center gap-2.5 rounded-md border bg-surface px-2.5 text-dim hover:text-ink md:mb-2 ${isNarrow ? 'md:justify-center md:px-0' : ''}`}
      >
        <Search size={15} aria-hidden />
        <span className={`flex-1 text-left max-md:sr-only ${isNarrow ? 'md:sr-only' : ''}`}>Find</span>
        <kbd aria-hidden className={`key max-md:hidden ${isNarrow ? 'md:hidden' : ''}`}>
          {PALETTE_KEYS}
        </kbd>
      </button>
      {shown === 'palette' && (
        <Suspense>
          <Palette onClose={close} onHelp={() => setShown('help')} onLeave={onLeave} />
        </Suspense>
      )}
      {shown === 'help' && (
        <Suspense>
          <Help entries={entries} onClose={close} />
        </Suspense>
      )}
    </>
  );
}
