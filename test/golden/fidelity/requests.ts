/** The fates of the fields of requests, as tables. */

import { GatewayError } from '../../../src/core/errors.ts';
import { isObject, type Json } from '../../../src/core/json/json.ts';
import type { Protocol, UpstreamProtocol } from '../../../src/core/protocol.ts';
import { upstreamProtocols } from '../../../src/protocols/index.ts';
import { ALONE, REFUSED } from '../fates.ts';
import { encode, everythingOf, type Fate, fatesOf, LENIENT, plainOf } from '../fields.ts';
import { table } from './table.ts';

/** By field, then by upstream: in words what becomes of it there. */
type Fates = Map<string, Map<string, Set<string>>>;

export function requestsFrom(from: Protocol): string {
  const others = upstreamProtocols.filter((other) => other !== from);
  const fates: Fates = new Map();
  for (const to of others) collect(fates, from, to);
  const ids = others.map(({ id }) => id);
  const rows = grouped([...fates.keys()], '', (field) => ids.map((id) => textOf(fates.get(field)?.get(id))));
  const kept = rows.filter(({ cells }) => cells.every((cell) => cell === 'kept'));
  const told = rows
    .filter((row) => !kept.includes(row))
    .map(({ field, cells }) => [code(field), ...cells.map((cell) => unnamed(cell, field))]);
  const head = ['field', ...ids.map((id) => `to ${id}`)];
  return `${wrapped(`Kept everywhere: ${kept.map(({ field }) => code(field)).join(', ')}.`)}\n\n${table(head, [...told, ...refusals(from, others)])}`;
}

/** In lines of at most 160 characters. */
function wrapped(text: string): string {
  return text.replace(/(.{1,160})(?: |$)/g, '$1\n').trimEnd();
}

function code(text: string): string {
  return `\`${text}\``;
}

function collect(fates: Fates, from: Protocol, to: UpstreamProtocol): void {
  const pair = `${from.id} ${to.id}`;
  const alone = (ALONE[from.id] ?? []).map((asked) => ({ asked, body: { ...plainOf(from), ...asked } }));
  const everything = everythingOf(from);
  for (const { asked, body } of [{ asked: everything, body: everything }, ...alone]) {
    for (const { leaf, fate } of fatesOf(pair, asked, encode(from, to, { body, rules: LENIENT }))) {
      const field = leaf.path.replace(/\.properties\..*$/, '.properties');
      const byUpstream = fates.get(field) ?? new Map<string, Set<string>>();
      fates.set(field, byUpstream.set(to.id, (byUpstream.get(to.id) ?? new Set()).add(inWords(fate, field))));
    }
  }
}

/** Throws for a field that vanished. */
function inWords(fate: Fate | undefined, field: string): string {
  if (!fate) throw new Error(`${field} has no fate`);
  switch (fate.type) {
    case 'kept':
      return 'kept';
    case 'dropped':
      return `dropped (${code(fate.name)})`;
    case 'adapted':
      return typeof fate.how === 'string' ? `adapted: ${fate.how}` : `adapted: ${placesOf(fate.how, field)}`;
  }
}

/** The value is shown where the place alone would say nothing. */
function placesOf(how: { [path: string]: Json }, field: string): string {
  const places = Object.entries(how).map(([path, value]) => {
    const place = path.replace(/\.\d+(?=\.|$)/g, '');
    return code(place === field ? `${place}: ${JSON.stringify(value)}` : place);
  });
  return places.join(', ');
}

function textOf(words: Set<string> | undefined): string {
  const sorted = [...(words ?? [])].sort((one, other) => ORDER.indexOf(one[0] ?? '') - ORDER.indexOf(other[0] ?? ''));
  return sorted
    .map((text, index) =>
      index > 0 && text.startsWith('adapted: ') && sorted[index - 1]?.startsWith('adapted: ')
        ? text.slice('adapted: '.length)
        : text,
    )
    .join(', or ');
}

/** First letters: kept, adapted, dropped. */
const ORDER = 'kad';

interface Row {
  field: string;
  cells: string[];
}

/** Fields that share their fates stand in one row, under the name that they have in common. */
function grouped(fields: string[], prefix: string, cellsOf: (field: string) => string[]): Row[] {
  const [first = ''] = fields;
  const cells = cellsOf(first);
  const isOne = fields.every((field) => cellsOf(field).join('|') === cells.join('|'));
  if (isOne && prefix !== '') return [{ field: named(fields.length === 1 ? first : prefix, cells), cells }];
  const depth = prefix === '' ? 1 : prefix.split('.').length + 1;
  const groups = Map.groupBy(fields, (field) => field.split('.').slice(0, depth).join('.'));
  return [...groups].flatMap(([name, inner]) =>
    name === prefix ? inner.map((field) => ({ field, cells: cellsOf(field) })) : grouped(inner, name, cellsOf),
  );
}

/** The name in the header, where that is of something above the field and the same everywhere. */
function named(field: string, cells: string[]): string {
  const [name] = new Set(cells.map((cell) => /^dropped \(`(.+)`\)$/.exec(cell)?.[1] ?? field));
  return cells.every((cell) => cell === cells[0]) && name && field.startsWith(`${name}.`) ? name : field;
}

/** Brackets only tell names that the row doesn't show. */
function unnamed(cell: string, field: string): string {
  return cell.replace(` (${code(field)})`, '');
}

/** What is refused at one of the upstreams, and what becomes of it at the others. */
function refusals(from: Protocol, others: UpstreamProtocol[]): string[][] {
  const changes = others.flatMap((to) => Object.values(REFUSED[`${from.id} ${to.id}`] ?? {}));
  const rows = new Map(changes.map((change) => [labelOf(change), change]));
  return [...rows].map(([label, change]) => [label, ...others.map((to) => fateOf(from, to, change))]);
}

function fateOf(from: Protocol, to: UpstreamProtocol, asked: Json): string {
  try {
    const encoded = encode(from, to, { body: { ...plainOf(from), ...asked }, rules: LENIENT });
    const fates = fatesOf(`${from.id} ${to.id}`, asked, encoded);
    return textOf(new Set(fates.map(({ leaf, fate }) => inWords(fate, leaf.path))));
  } catch (error) {
    if (error instanceof GatewayError) return `refused: ${code(error.code)}`;
    throw error;
  }
}

/** The field that a change is about, down to the type of an object or the value that matters. */
function labelOf(change: Json, path = ''): string {
  const [item] = Array.isArray(change) ? change : [change];
  if (isObject(item)) {
    if (/(tools|content)$/.test(path)) return code(`${path}.${item.type ?? Object.keys(item)[0]}`);
    if (typeof item.type === 'string' && path !== '') return code(path);
    const name = Object.keys(item).find((key) => key !== 'role');
    return name ? labelOf(item[name], path === '' ? name : `${path}.${name}`) : code(path);
  }
  if (Array.isArray(change) && change.length > 1) return `${code(path)} with ${change.length} values`;
  const isTelling = typeof item === 'number' || /^[A-Z]+$|^(text|video)\//.test(item);
  return code(isTelling ? `${path}: ${item}` : path);
}
