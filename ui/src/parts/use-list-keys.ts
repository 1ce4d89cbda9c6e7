/** Keyboard of a list: `j` and `k` move, Enter opens. */

import { useCallback, useEffect, useRef } from 'react';

interface ListKeysOptions {
  open: string | undefined;
  onOpen(id: string): void;
}

/** Returns the properties of the button in the row of an id. */
export function useListKeys(ids: readonly string[], { open, onOpen }: ListKeysOptions) {
  const buttons = useRef(new Map<string, HTMLButtonElement>());
  const focused = useRef<string>(undefined);

  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.key !== 'j' && event.key !== 'k') return;
      if (isTyping(event)) return;
      const at = ids.indexOf(open ?? focused.current ?? '');
      const next = ids[Math.min(ids.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)))];
      if (next === undefined) return;
      buttons.current.get(next)?.focus();
      focused.current = next;
      if (open !== undefined) onOpen(next);
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [ids, open, onOpen]);

  return useCallback(
    (id: string) => ({
      ref(button: HTMLButtonElement | null) {
        if (button) buttons.current.set(id, button);
        else buttons.current.delete(id);
      },
      onFocus() {
        focused.current = id;
      },
      onClick: () => onOpen(id),
    }),
    [onOpen],
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
