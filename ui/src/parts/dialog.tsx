/** Dialog in the middle of the page. */

import { Dialog as AriaDialog, DialogDismiss, DialogHeading } from '@ariakit/react';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { region } from './announcer.tsx';

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose(): void;
  /** Its content must not be lost by a click beside it. */
  isKept?: boolean;
  /** True while it must stay open, because an answer on its way has what is shown once. */
  mustStay?(): boolean;
  wide?: boolean;
  children: ReactNode;
}

export function Dialog({ title, isOpen, onClose, isKept = false, mustStay, wide = false, children }: DialogProps) {
  return (
    <AriaDialog
      open={isOpen}
      onClose={(event) => (mustStay?.() ? event.preventDefault() : onClose())}
      hideOnInteractOutside={!isKept}
      unmountOnHide
      getPersistentElements={() => [region]}
      backdrop={<div className="bg-black/40" />}
      className={`fixed inset-x-3 top-[6vh] z-50 mx-auto flex max-h-[88vh] flex-col overflow-hidden rounded-xl border bg-raised shadow-2xl ${wide ? 'max-w-4xl' : 'max-w-lg'}`}
    >
      <header className="flex min-h-13 items-center gap-2 border-b px-5">
        <DialogHeading className="flex-1 text-[1.05rem]">{title}</DialogHeading>
        <DialogDismiss aria-label="Close" className="grid size-8 place-items-center rounded-md text-dim hover:bg-hover">
          <X size={17} aria-hidden />
        </DialogDismiss>
      </header>
      <div className="min-h-0 overflow-y-auto p-5">{children}</div>
    </AriaDialog>
  );
}
