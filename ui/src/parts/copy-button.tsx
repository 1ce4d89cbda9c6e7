/** Button that copies a text. */

import { Check, CircleAlert, Copy } from 'lucide-react';
import { useState } from 'react';
import { announce } from './announcer.tsx';
import { IconButton } from './button.tsx';

const SHOWN_MS = 1600;

/** Copies a text, and says whether it did. */
export function CopyButton({ text, label = 'Copy', wide = false }: { text: string; label?: string; wide?: boolean }) {
  const [isCopied, setCopied] = useState<boolean>();
  async function copy() {
    // Pages over plain http have no clipboard.
    const isDone = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    const isThere = isDone || copyByCommand(text);
    setCopied(isThere);
    announce(wordsOf(isThere));
    setTimeout(() => setCopied(undefined), SHOWN_MS);
  }
  const Icon = isCopied === undefined ? Copy : isCopied ? Check : CircleAlert;
  const words = isCopied === undefined ? label : wordsOf(isCopied);
  if (!wide) return <IconButton label={words} icon={Icon} onClick={copy} />;
  return (
    <button type="button" className="button" onClick={copy}>
      <Icon size={15} aria-hidden />
      {words}
    </button>
  );
}

const wordsOf = (isCopied: boolean) => (isCopied ? 'Copied' : 'Not copied');

/** Whether the text is in the clipboard. */
function copyByCommand(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'sr-only';
  // A dialog closes when something outside of it has the focus.
  (focused?.closest('[role=dialog]') ?? document.body).append(field);
  field.focus({ preventScroll: true });
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return isCopied;
}
