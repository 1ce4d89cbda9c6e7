/** Buttons. */

import { Tooltip, TooltipAnchor, TooltipProvider } from '@ariakit/react';
import { Check, Copy, type LucideIcon } from 'lucide-react';
import { useState } from 'react';

interface IconButtonProps {
  label: string;
  icon: LucideIcon;
  onClick(): void;
  pressed?: boolean;
}

/** A button that shows its name while it is pointed at. */
export function IconButton({ label, icon: Icon, onClick, pressed }: IconButtonProps) {
  return (
    <TooltipProvider timeout={300}>
      <TooltipAnchor
        render={<button type="button" />}
        aria-label={label}
        aria-pressed={pressed}
        onClick={onClick}
        className="grid size-8 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink"
      >
        <Icon size={16} aria-hidden />
      </TooltipAnchor>
      <Tooltip portal={false} className="z-50 rounded-md bg-ink px-2 py-1 text-xs text-page">
        {label}
      </Tooltip>
    </TooltipProvider>
  );
}

const SHOWN_MS = 1600;

/** Copies a text, and says that it did. */
export function CopyButton({ text, label = 'Copy', wide = false }: { text: string; label?: string; wide?: boolean }) {
  const [isCopied, setCopied] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  }
  const icon = isCopied ? Check : Copy;
  if (!wide) return <IconButton label={isCopied ? 'Copied' : label} icon={icon} onClick={copy} />;
  const Icon = icon;
  return (
    <button type="button" className="button" onClick={copy}>
      <Icon size={15} aria-hidden />
      <span aria-live="polite">{isCopied ? 'Copied' : label}</span>
    </button>
  );
}
