/** Saved views: names for addresses of a page, in the storage of the browser. */

import { useSyncExternalStore } from 'react';

export interface SavedView {
  name: string;
  /** Path and search of the page, below `/ui`. */
  address: string;
}

const STORED_AS = 'polygate-views';
export const MAX_VIEWS = 50;
export const MAX_NAME_LENGTH = 60;
const listeners = new Set<() => void>();
let read: { text: string | null; views: SavedView[] } = { text: null, views: [] };

/** Those of a page. */
export function useViews(path: string): SavedView[] {
  const views = useSyncExternalStore(subscribe, storedViews);
  return views.filter(({ address }) => pathOf(address) === path);
}

/** One of the same name and page is replaced; beyond the most, the oldest is dropped. */
export function saveView(view: SavedView): void {
  write([...storedViews().filter((other) => !isSame(other, view)), view].slice(-MAX_VIEWS));
}

export function removeView(view: SavedView): void {
  write(storedViews().filter((other) => !isSame(other, view)));
}

const pathOf = (address: string) => address.split('?', 1)[0];
const isSame = (one: SavedView, other: SavedView) =>
  one.name === other.name && pathOf(one.address) === pathOf(other.address);

function storedViews(): SavedView[] {
  const text = localStorage.getItem(STORED_AS);
  if (text !== read.text) read = { text, views: parse(text) };
  return read.views;
}

/** What another version, or somebody else, left there is no view. */
function parse(text: string | null): SavedView[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(list) ? list.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  const { name, address } = (value ?? {}) as Partial<SavedView>;
  return typeof name === 'string' && typeof address === 'string' && /^\/[\w-]+(?:\?|$)/.test(address);
}

function write(views: SavedView[]): void {
  localStorage.setItem(STORED_AS, JSON.stringify(views));
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
