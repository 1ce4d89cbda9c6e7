/** Rows of a long table that are in view: only these are in the document, so that a list of 100,000 rows scrolls like one of 100. */

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

/** Lists up to here are in the document as a whole. */
const MAX_WHOLE_ROWS = 200;
/** Rows above and below the window. */
const MARGIN_ROWS = 8;
/** Rows in view change in steps, so that most scrolling changes nothing. */
const STEP_ROWS = 5;
/** Of a row that was not measured yet, in pixels. */
const FIRST_HEIGHT = 37;

export interface RowsInView {
  /** For the body of the table. */
  body: (element: HTMLTableSectionElement | null) => void;
  first: number;
  /** Exclusive. */
  end: number;
  /** Pixels of the rows above and below. */
  above: number;
  below: number;
  /** Scrolls until a row is in the document. */
  show(index: number): void;
}

/** All rows of the table have one height; those in the document have the attribute `aria-rowindex`. The window scrolls. */
export function useRowsInView(count: number): RowsInView {
  const element = useRef<HTMLTableSectionElement>(null);
  const height = useRef(FIRST_HEIGHT);
  const isWhole = count <= MAX_WHOLE_ROWS;
  const [start, setStart] = useState({
    first: 0,
    end: isWhole ? MAX_WHOLE_ROWS : Math.ceil(innerHeight / FIRST_HEIGHT),
  });

  const look = useCallback(() => {
    if (!element.current || isWhole) return;
    const row = element.current.querySelector('[aria-rowindex]')?.getBoundingClientRect().height;
    if (row) height.current = row;
    const above = -element.current.getBoundingClientRect().top / height.current;
    const step = (rows: number) => Math.floor(rows / STEP_ROWS) * STEP_ROWS;
    const first = Math.max(0, step(Math.min(above, count) - MARGIN_ROWS));
    const end = step(above + innerHeight / height.current + MARGIN_ROWS) + STEP_ROWS;
    setStart((before) => (before.first === first && before.end === end ? before : { first, end }));
  }, [count, isWhole]);

  useLayoutEffect(look, [look]);
  useEffect(() => {
    if (isWhole) return undefined;
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [look, isWhole]);

  const body = useCallback((next: HTMLTableSectionElement | null) => {
    element.current = next;
  }, []);
  const show = useCallback(
    (index: number) => {
      if (!element.current || isWhole) return;
      const top = element.current.getBoundingClientRect().top + index * height.current;
      scrollBy({ top: top - innerHeight / 2 });
      flushSync(look);
    },
    [look, isWhole],
  );

  const first = isWhole ? 0 : Math.min(start.first, count);
  const end = isWhole ? count : Math.max(first, Math.min(start.end, count));
  return { body, first, end, above: first * height.current, below: (count - end) * height.current, show };
}
