/** States of a page: loading, empty, failed, and stale. */

import { CircleAlert, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiError } from '../api.ts';
import { Spoken } from './announcer.tsx';
import { ClockTime } from './clock-time.tsx';

/** Shape of a table that is to come. */
export function LoadingRows({ rows = 6 }: { rows?: number }) {
  return (
    <div className="flex flex-col gap-3 p-4">
      <Spoken className="sr-only">Loading</Spoken>
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: They are all alike.
        <div key={index} className="skeleton h-5" />
      ))}
    </div>
  );
}

/** Shape of something else that is to come; `className` has its height. */
export function LoadingBlock({ className }: { className: string }) {
  return (
    <div className={`card skeleton ${className}`}>
      <Spoken className="sr-only">Loading</Spoken>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="px-6 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="mx-auto mt-2 max-w-2xl text-dim">{children}</div>}
    </div>
  );
}

export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?(): void }) {
  const message = error instanceof Error ? error.message : String(error);
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <div role="alert" className="flex flex-wrap items-start gap-3 rounded-lg bg-bad-soft px-4 py-3">
      <CircleAlert size={17} className="mt-0.5 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="break-words">{message}</p>
        {requestId && <p className="mt-0.5 font-mono text-xs break-all text-dim">{requestId}</p>}
      </div>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          <RotateCw size={14} aria-hidden />
          Try again
        </button>
      )}
    </div>
  );
}

interface Asked<Data> {
  data: Data | undefined;
  error: unknown;
  dataUpdatedAt: number;
  /** The data are those of the question before. */
  isPlaceholderData?: boolean;
  refetch(): unknown;
}

interface LoadedProps<Data> {
  asked: Asked<Data>;
  loading?: ReactNode;
  children(data: Data): ReactNode;
}

/** Answer to a question, in the state that it is in; older data stay visible and are marked. */
export function Loaded<Data>({ asked, loading = <LoadingRows />, children }: LoadedProps<Data>) {
  const { data, error, refetch, dataUpdatedAt, isPlaceholderData } = asked;
  if (data === undefined) {
    return error ? (
      <div className="p-3">
        <ErrorNotice error={error} onRetry={() => void refetch()} />
      </div>
    ) : (
      loading
    );
  }
  return (
    <>
      {Boolean(error) && (
        <div className="p-3">
          <ErrorNotice error={error} onRetry={() => void refetch()} />
          <p className="mt-2 text-warn">
            Shown is what was there at <ClockTime at={dataUpdatedAt} />.
          </p>
        </div>
      )}
      {/* The same element in both states, so that forms within it keep what was typed. Not faded: it must stay readable. */}
      <div className={error ? 'grayscale' : 'contents'} aria-busy={isPlaceholderData}>
        {children(data)}
      </div>
    </>
  );
}
