/** Saved views in the storage of this browser. */

import { createStoredValue } from './stored-value.ts';

export interface LocalView {
  name: string;
  /** Path and search of the page, below `/ui`. */
  address: string;
}

const MAX_VIEWS = 50;
const stored = createStoredValue<LocalView[]>('polygate-views', {
  decode: (value) => (Array.isArray(value) ? value.filter(isView) : []),
  isEmpty: (views) => views.length === 0,
});

export const readLocalViews = stored.read;

export function useLocalViews(): LocalView[] {
  return stored.useValue((views) => views);
}

/** One of the same name and page is replaced; beyond the most, the oldest is dropped. */
export function saveLocalView(view: LocalView): void {
  stored.write([...readLocalViews().filter((other) => !isSame(other, view)), view].slice(-MAX_VIEWS));
}

export function removeLocalView(view: LocalView): void {
  stored.write(readLocalViews().filter((other) => !isSame(other, view)));
}

const pathOf = (address: string) => address.split('?', 1)[0];
const isSame = (one: LocalView, other: LocalView) =>
  one.name === other.name && pathOf(one.address) === pathOf(other.address);

function isView(value: unknown): value is LocalView {
  const { name, address } = (value ?? {}) as Partial<LocalView>;
  return typeof name === 'string' && typeof address === 'string' && /^\/[\w-]+(?:\?|$)/.test(address);
}
