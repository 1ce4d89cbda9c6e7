/** Messages of a screen reader about changes on the page: one in five seconds, the newest. */

import { type ReactNode, useEffect, useRef } from 'react';

const SILENCE_MS = 5000;
/** Time in which what changes quickly comes to rest. */
const REST_MS = 150;

/** The one polite region of the page, also beside an open dialog. */
export const region = document.createElement('p');
region.role = 'status';
region.className = 'sr-only';
document.body.append(region);

let newest: string | undefined;
let isWaiting = false;
let spokenAt = Number.NEGATIVE_INFINITY;

/** A message that waits is replaced by the next one. */
export function announce(text: string): void {
  newest = text;
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(speak, Math.max(REST_MS, spokenAt + SILENCE_MS - performance.now()));
}

function speak(): void {
  isWaiting = false;
  if (newest === undefined) return;
  spokenAt = performance.now();
  region.textContent = newest;
  newest = undefined;
}

interface SpokenProps {
  as?: 'div' | 'p' | 'span';
  className?: string;
  children: ReactNode;
}

/** Something that is said when it comes and whenever its words change. */
export function Spoken({ as: Part = 'span', className, children }: SpokenProps) {
  const element = useRef<HTMLElement>(null);
  const words = useRef('');
  useEffect(() => {
    const text = element.current?.innerText ?? '';
    if (text === words.current) return;
    words.current = text;
    if (text) announce(text);
  });
  // What is gone is not said any more.
  useEffect(
    () => () => {
      if (newest === words.current) newest = undefined;
    },
    [],
  );
  return (
    <Part ref={element as never} className={className} data-spoken="">
      {children}
    </Part>
  );
}
