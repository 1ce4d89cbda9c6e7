/** Head of a page, its cards and its figures. */

import { type ReactNode, useEffect } from 'react';

interface PageProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** As wide as the window. */
  isWide?: boolean;
  children: ReactNode;
}

export function Page({ title, about, actions, isWide = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Polygate`;
  }, [title]);
  return (
    <div className={isWide ? '' : 'mx-auto max-w-[88rem]'}>
      <header className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h1>{title}</h1>
          {about && <p className="mt-0.5 text-dim">{about}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div className="flex flex-col gap-5">{children}</div>
    </div>
  );
}

interface CardProps {
  title?: string;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}

export function Card({ title, actions, children, className = '' }: CardProps) {
  return (
    <section className={`card min-w-0 ${className}`} aria-label={title}>
      {title && (
        <div className="flex min-h-12 flex-wrap items-center justify-between gap-3 border-b px-4 py-2">
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

export function Figure({ label, value, note }: { label: string; value: ReactNode; note?: ReactNode }) {
  return (
    <div className="@container min-w-0 px-4 py-3.5">
      <dt className="text-dim">{label}</dt>
      {/* A new function each time, which is called for a value that changes in place, too. */}
      <dd ref={(element) => tellLength(element)} className="figure mt-0.5 font-medium tracking-tight tabular-nums">
        {value}
      </dd>
      {note && <dd className="text-dim">{note}</dd>}
    </div>
  );
}

/** Tells the styles how many characters have to stand on one line. */
function tellLength(element: HTMLElement | null) {
  const words = element?.textContent.split(' ') ?? [];
  element?.style.setProperty('--characters', `${Math.max(...words.map(({ length }) => length))}`);
}

export function Figures({ children }: { children: ReactNode }) {
  return (
    <dl className="card grid grid-cols-2 divide-line max-sm:divide-y max-sm:[&>:nth-child(odd):nth-last-child(2)]:border-b-0 sm:grid-cols-3 sm:divide-x xl:grid-cols-[repeat(auto-fit,minmax(9rem,1fr))]">
      {children}
    </dl>
  );
}
