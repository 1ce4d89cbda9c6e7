/** Readers of JSON that differ in what they make of names: the first or the last of a name, in its own case or in any. */

import { fold } from '../../src/core/json/names.ts';

/** JSON with everything that its text says: of an object all members in order. */
export type Told = { members: [name: string, value: Told][] } | { items: Told[] } | { value: unknown };

/** The value of a member as a reader sees it; undefined where it sees none. */
export type Reader = (told: Told | undefined, name: string) => Told | undefined;

function membersOf(told: Told | undefined): [string, Told][] {
  return told && 'members' in told ? told.members : [];
}

export const READERS: Record<string, Reader> = {
  'first wins': (told, name) => membersOf(told).find(([given]) => given === name)?.[1],
  'last wins': (told, name) => membersOf(told).findLast(([given]) => given === name)?.[1],
  'first wins, in any case': (told, name) => membersOf(told).find(([given]) => fold(given) === fold(name))?.[1],
  'last wins, in any case': (told, name) => membersOf(told).findLast(([given]) => fold(given) === fold(name))?.[1],
};

/** The text of a JSON value that is well-formed. */
export function tellAll(text: string): Told {
  let position = 0;

  function space(): string {
    while (' \t\r\n'.includes(text[position] ?? 'x')) position++;
    return text[position] ?? '';
  }

  function scalar(): unknown {
    const [match = ''] = /^("([^"\\]|\\.)*"|[^,\]}\s]+)/.exec(text.slice(position)) ?? [];
    position += match.length;
    return JSON.parse(match);
  }

  function list<Item>(end: string, item: () => Item): Item[] {
    const items: Item[] = [];
    position++;
    while (space() !== end) {
      items.push(item());
      if (space() === ',') position++;
    }
    position++;
    return items;
  }

  function value(): Told {
    const start = space();
    if (start === '[') return { items: list(']', value) };
    if (start !== '{') return { value: scalar() };
    const members = list('}', (): [string, Told] => {
      space();
      const name = String(scalar());
      space();
      position++;
      return [name, value()];
    });
    return { members };
  }

  return value();
}

/** A number as lenient servers read it. */
export function numberIn(told: Told | undefined): number | undefined {
  if (!told || !('value' in told) || told.value === null) return undefined;
  const number = Number(told.value);
  return Number.isNaN(number) ? undefined : number;
}
