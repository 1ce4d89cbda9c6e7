/** Buttons. */

import { Tooltip, TooltipAnchor, TooltipProvider } from '@ariakit/react';
import type { LucideIcon } from 'lucide-react';

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
