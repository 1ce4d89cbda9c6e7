/** Table of a list: its columns, the field that searches it, and how many rows it shows. */

import { Search } from 'lucide-react';
import { Fragment, type ReactNode, type Ref, useEffect, useRef } from 'react';
import { Spoken } from './announcer.tsx';
import { useHiddenColumns } from './hidden-columns.ts';
import { formatCount } from './numbers.tsx';
import { TableScroll } from './table-scroll.tsx';

/** A name, or more about it. */
export type Column = string | { name: string; isNumber?: true; isHidden?: true };

export function columnOf(column: Column): { name: string; isNumber?: true; isHidden?: true } {
  return typeof column === 'string' ? { name: column } : column;
}

/** Column of numbers, which stand at the right edge. */
export const numbers = (name: string): Column => ({ name, isNumber: true });

interface TableProps {
  label: string;
  columns: readonly Column[];
  className?: string;
  /** The rows. */
  children: ReactNode;
  foot?: ReactNode;
  /** Content below the table. */
  below?: ReactNode;
  /** Rows with the head, where not all of them are in the document. */
  rowCount?: number;
  body?: Ref<HTMLTableSectionElement>;
}

export function Table({ label, columns, className, children, foot, below, rowCount, body }: TableProps) {
  const [hidden] = useHiddenColumns(label);
  const places = columns.flatMap((column, index) =>
    index > 0 && hidden.includes(columnOf(column).name) ? [index + 1] : [],
  );
  return (
    <TableScroll label={label} {...(className !== undefined && { className })}>
      <table
        className="data"
        aria-label={label}
        aria-rowcount={rowCount}
        data-hidden={places.length > 0 ? places.join(' ') : undefined}
      >
        <thead>
          <tr>
            {columns.map((column) => {
              const { name, isNumber, isHidden } = columnOf(column);
              return (
                <th key={name} scope="col" className={isNumber && 'number'}>
                  {isHidden ? <span className="sr-only">{name}</span> : name}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
        {foot && <tfoot>{foot}</tfoot>}
      </table>
      {below}
    </TableScroll>
  );
}

/** A text whose line may end behind each of its parts: it ends within none that fits. */
export function Breakable({ parts }: { parts: readonly string[] }) {
  return parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: They stay in their places.
    <Fragment key={index}>
      <wbr />
      {part}
    </Fragment>
  ));
}

/** Of a model, an endpoint or a tag. */
export function BreakableName({ name }: { name: string }) {
  return <Breakable parts={name.split(/(?<=[/=])/)} />;
}

interface SearchFieldProps {
  placeholder: string;
  value: string;
  onChange(value: string | undefined): void;
}

/** Time without another letter after which a text is looked for. */
const QUIET_MS = 150;

export function SearchField({ placeholder, value, onChange }: SearchFieldProps) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    // Who types is ahead of the value.
    if (input.current && input.current !== document.activeElement) input.current.value = value;
  }, [value]);
  return (
    <label className="relative min-w-48 flex-1">
      <span className="sr-only">Search</span>
      <Search size={15} aria-hidden className="absolute top-2.5 left-2.5 text-dim" />
      <input
        ref={input}
        className="input pl-8"
        type="search"
        data-search
        placeholder={placeholder}
        defaultValue={value}
        onChange={({ target }) => {
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onChange(target.value || undefined), QUIET_MS);
        }}
      />
    </label>
  );
}

/** Line above a table with what narrows it. */
export function FilterLine({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-2 border-b p-3">{children}</div>;
}

/** Members of the first page of a list whose newest entries are counted. */
export interface CountedPage {
  total?: number;
  total_complete?: boolean;
}

interface ShownCountProps {
  shown: number;
  /** Undefined where it is not known. */
  all: number | undefined;
  /** There may be more than were counted. */
  isPartial?: boolean;
}

export function ShownCount({ shown, all, isPartial = false }: ShownCountProps) {
  if (all === undefined) return null;
  return (
    <Spoken className="px-1 text-dim">
      {formatCount(shown)} of {formatCount(all)}
      {isPartial && ' or more'}
    </Spoken>
  );
}

interface OlderProps {
  pages: {
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    isFetchNextPageError: boolean;
    fetchNextPage(): unknown;
  };
  /** By default that of lists with the newest first. */
  label?: string;
  /** The next page is added when the end of the list comes near. */
  isAutomatic?: boolean;
  children?: ReactNode;
}

/** Distance of the end of a list from the window at which more is asked for. */
const NEAR = '600px';

/** Button that adds the next page of a list, where there is one. */
export function Older({ pages, label = 'Older', isAutomatic = false, children }: OlderProps) {
  const line = useRef<HTMLDivElement>(null);
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = pages;
  const isAsking = isAutomatic && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (!isAsking || !line.current) return undefined;
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && void fetchNextPage(),
      { rootMargin: NEAR },
    );
    observer.observe(line.current);
    return () => observer.disconnect();
  }, [isAsking, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <div ref={line} className="flex items-center justify-center gap-3 border-t p-3">
      {children}
      <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        {isFetchingNextPage ? 'Looking …' : label}
      </button>
    </div>
  );
}
