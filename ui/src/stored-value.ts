/** Value in the storage of this browser, which all its pages follow. */

import { useSyncExternalStore } from 'react';

interface StoredForm<Value> {
  /** What another version, or somebody else, left there counts as nothing. Gets undefined where nothing is stored. */
  decode(stored: unknown): Value;
  isEmpty(value: Value): boolean;
}

export function createStoredValue<Value>(name: string, { decode, isEmpty }: StoredForm<Value>) {
  const listeners = new Set<() => void>();
  let known: { text: string | null; value: Value } | undefined;

  /** The same object until it changes. */
  function read(): Value {
    const text = localStorage.getItem(name);
    if (text !== known?.text) known = { text, value: decode(parse(text)) };
    return known.value;
  }

  function write(value: Value): void {
    if (isEmpty(value)) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
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

  /** Reads a part of the value, which stays the same object until the value changes. */
  function useValue<Part>(select: (value: Value) => Part): Part {
    return useSyncExternalStore(subscribe, () => select(read()));
  }

  return { read, write, useValue };
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}
