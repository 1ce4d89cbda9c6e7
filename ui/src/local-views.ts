/** Saved views in the storage of this browser. */

import { useSyncExternalStore } from 'react';

export interface LocalView {
  name: string;
  /** Path and search of the page, below `/ui`. */
  address: string;
}

const STORED_AS = 'polygate-views';
const MAX_VIEWS = 50;
const listeners = new Set<() => void>();
let read: { text: string | null; views: LocalView[] } = { text: null, views: [] };

export function useLocalViews(): LocalView[] {
  return useSyncExternalStore(subscribe, readLocalViews);
}

/** One of the same name and page is replaced; beyond the most, the oldest is dropped. */
export function saveLocalView(view: LocalView): void {
  write([...readLocalViews().filter((other) => !isSame(other, view)), view].slice(-MAX_VIEWS));
}

export function removeLocalView(view: LocalView): void {
  write(readLocalViews().filter((other) => !isSame(other, view)));
}

/** The same list until it changes. */
export function readLocalViews(): LocalView[] {
  const text = localStorage.getItem(STORED_AS);
  if (text !== read.text) read = { text, views: parse(text) };
  return read.views;
}

const pathOf = (address: string) => address.split('?', 1)[0];
const isSame = (one: LocalView, other: LocalView) =>
  one.name === other.name && pathOf(one.address) === pathOf(other.address);

/** What another version, or somebody else, left there is no view. */
function parse(text: string | null): LocalView[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(list) ? list.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is LocalView {
  const { name, address } = (value ?? {}) as Partial<LocalView>;
  return typeof name === 'string' && typeof address === 'string' && /^\/[\w-]+(?:\?|$)/.test(address);
}

function write(views: LocalView[]): void {
  if (views.length > 0) localStorage.setItem(STORED_AS, JSON.stringify(views));
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
