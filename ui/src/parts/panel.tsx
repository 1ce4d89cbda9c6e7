/** Panel at the right edge that shows a row in all details, beside the list. */

import { Dialog, DialogDismiss, DialogHeading } from '@ariakit/react';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { region } from './announcer.tsx';

interface PanelProps {
  title: string;
  isOpen: boolean;
  onClose(): void;
  actions?: ReactNode;
  children: ReactNode;
}

/** Windows in which it covers the list. */
const NARROW = '(width < 40rem)';

/** The list beside it stays usable. One that is covered must not have the focus. */
export function Panel({ title, isOpen, onClose, actions, children }: PanelProps) {
  return (
    <Dialog
      open={isOpen}
      onClose={onClose}
      modal={matchMedia(NARROW).matches}
      backdrop={false}
      getPersistentElements={() => [region]}
      hideOnInteractOutside={false}
      unmountOnHide
      className="fixed inset-y-0 right-0 z-40 flex w-full flex-col border-l bg-raised shadow-2xl sm:w-[min(40rem,92vw)]"
    >
      <header className="flex min-h-14 items-center gap-2 border-b px-5 py-2">
        <DialogHeading className="min-w-0 flex-1 truncate text-[1.05rem]">{title}</DialogHeading>
        <DialogDismiss
          aria-label="Close"
          className="order-last grid size-8 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink"
        >
          <X size={17} aria-hidden />
        </DialogDismiss>
        {actions}
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {/* A padding of what scrolls would keep heads of tables off its edge. */}
        <div className="p-5">{children}</div>
      </div>
    </Dialog>
  );
}
