/** Columns that somebody does not want to see, by table, in the storage of this browser. */

import { useSyncExternalStore } from 'react';

const STORED_AS = 'polygate-columns';
const listeners = new Set<() => void>();
const NONE: readonly string[] = [];
let read: { text: string | null; tables: Record<string, readonly string[]> } = { text: null, tables: {} };

/** Names of the hidden columns of a table, and how to choose others. */
export function useHiddenColumns(table: string): [hidden: readonly string[], hide: (names: readonly string[]) => void] {
  const hidden = useSyncExternalStore(subscribe, () => tablesNow()[table] ?? NONE);
  return [hidden, (names) => write({ ...tablesNow(), [table]: names })];
}

function tablesNow(): Record<string, readonly string[]> {
  const text = localStorage.getItem(STORED_AS);
  if (text !== read.text) read = { text, tables: parse(text) };
  return read.tables;
}

/** What another version, or somebody else, left there hides nothing. */
function parse(text: string | null): Record<string, readonly string[]> {
  try {
    const found = Object.entries((JSON.parse(text ?? '{}') ?? {}) as object);
    const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string');
    return Object.fromEntries(found.filter(([, names]) => isNames(names)));
  } catch {
    return {};
  }
}

function write(tables: Record<string, readonly string[]>): void {
  const chosen = Object.entries(tables).filter(([, names]) => names.length > 0);
  if (chosen.length > 0) localStorage.setItem(STORED_AS, JSON.stringify(Object.fromEntries(chosen)));
  else localStorage.removeItem(STORED_AS);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}
