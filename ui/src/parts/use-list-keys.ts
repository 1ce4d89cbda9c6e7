/** Keyboard of a list: `j` and `k` move, Enter opens. */

import { useCallback, useEffect, useRef } from 'react';

interface ListKeysOptions {
  open: string | undefined;
  onOpen(id: string): void;
  /** Brings a row into the document, by its place in the list. */
  onAbsent?(index: number): void;
}

/** Returns the properties of the button in the row of an id. */
export function useListKeys(ids: readonly string[], { open, onOpen, onAbsent }: ListKeysOptions) {
  const buttons = useRef(new Map<string, HTMLButtonElement>());
  const focused = useRef<string>(undefined);

  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.key !== 'j' && event.key !== 'k') return;
      if (isTyping(event)) return;
      const at = ids.indexOf(open ?? focused.current ?? '');
      const place = Math.min(ids.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)));
      const next = ids[place];
      if (next === undefined) return;
      if (!buttons.current.has(next)) onAbsent?.(place);
      buttons.current.get(next)?.focus();
      focused.current = next;
      if (open !== undefined) onOpen(next);
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [ids, open, onOpen, onAbsent]);

  // A list gives a new function each time.
  const onOpenNow = useRef(onOpen);
  onOpenNow.current = onOpen;
  return useCallback(
    (id: string) => ({
      ref(button: HTMLButtonElement | null) {
        if (button) buttons.current.set(id, button);
        else buttons.current.delete(id);
      },
      onFocus() {
        focused.current = id;
      },
      onClick: () => onOpenNow.current(id),
    }),
    [],
  );
}

/** Whether a key belongs to what is typed. */
export function isTyping({ target, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  if (metaKey || ctrlKey || altKey) return true;
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable], [role=listbox]') !== null
  );
}
