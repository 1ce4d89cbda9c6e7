/** Region around a table that scrolls by itself where it must, with the head of the table in view all the same. */

import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';

interface TableScrollProps {
  label: string;
  children: ReactNode;
  className?: string;
}

/** Pixels by which rounded sizes differ. */
const ROUNDING = 1;

/** A region that scrolls keeps its head to itself, also while it is the page that scrolls: there the head follows by script. */
export function TableScroll({ label, children, className = '' }: TableScrollProps) {
  const box = useRef<HTMLElement>(null);
  const [fits, setFits] = useState(false);
  useLayoutEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => setFits(fitsInto(current)));
    for (const element of [current, ...current.children]) observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => (box.current && !fits ? keepHeadInView(box.current) : undefined), [fits]);
  return (
    <section
      ref={box}
      aria-label={label}
      // A region that scrolls must be reached by keyboard.
      tabIndex={fits ? undefined : 0}
      className={`rounded-[10px] ${fits ? '' : 'overflow-auto'} ${className}`}
    >
      {children}
    </section>
  );
}

function fitsInto({ scrollWidth, clientWidth, scrollHeight, clientHeight }: HTMLElement): boolean {
  return scrollWidth <= clientWidth && scrollHeight <= clientHeight + ROUNDING;
}

/** Tells the styles of the head how much of the region is above what is in view. Returns what ends it. */
function keepHeadInView(box: HTMLElement): () => void {
  const outer = scrollerOf(box);
  function look() {
    const edge = outer?.getBoundingClientRect().top ?? 0;
    const above = Math.max(0, edge - box.getBoundingClientRect().top - box.clientTop);
    box.style.setProperty('--above', `${above}px`);
  }
  look();
  const options = { capture: true, passive: true };
  addEventListener('scroll', look, options);
  addEventListener('resize', look);
  return () => {
    removeEventListener('scroll', look, options);
    removeEventListener('resize', look);
    box.style.removeProperty('--above');
  };
}

/** Element that scrolls around another one; undefined where it is the window. */
function scrollerOf({ parentElement }: HTMLElement): HTMLElement | undefined {
  if (!parentElement || parentElement === document.body) return undefined;
  const { overflowY } = getComputedStyle(parentElement);
  return overflowY === 'auto' || overflowY === 'scroll' ? parentElement : scrollerOf(parentElement);
}
