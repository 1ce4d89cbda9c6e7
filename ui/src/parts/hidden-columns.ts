/** Columns that somebody does not want to see, by table, in the storage of this browser. */

import { createStoredValue } from '../stored-value.ts';

type HiddenColumns = Record<string, readonly string[]>;

const NONE: readonly string[] = [];
const stored = createStoredValue<HiddenColumns>('polygate-columns', {
  decode(value) {
    const isNames = (names: unknown) => Array.isArray(names) && names.every((name) => typeof name === 'string');
    return Object.fromEntries(Object.entries(value ?? {}).filter(([, names]) => isNames(names)));
  },
  isEmpty: (tables) => Object.keys(tables).length === 0,
});

/** Names of the hidden columns of a table, and how to choose others. */
export function useHiddenColumns(table: string): [hidden: readonly string[], hide: (names: readonly string[]) => void] {
  const hidden = stored.useValue((tables) => tables[table] ?? NONE);
  return [hidden, (names) => hide(table, names)];
}

function hide(table: string, names: readonly string[]): void {
  const { [table]: _before, ...others } = stored.read();
  stored.write(names.length > 0 ? { ...others, [table]: names } : others);
}
