/** Alignment of two bodies: where each value of one went in the other. Its cost grows with the number of leaves. */

import type { Leaf } from './leaves.ts';

export type Mark = 'same' | 'renamed' | 'reshaped' | 'dropped' | 'added';

export interface AlignedLeaf {
  mark: Mark;
  /** Whether the gateway says that it dropped this. */
  isTold?: true;
  /** Absent where it was added. */
  left?: Leaf;
  /** Absent where it was dropped, or where its shape alone says it. */
  right?: Leaf;
}

/** Candidates that are compared for one leaf. */
const MAX_CANDIDATES = 16;
/** Objects around a leaf that are noted as its own. */
const MAX_AROUND = 6;
/** Texts of each side that are sought within those of the other. */
const MAX_TEXTS = 40;
const MAX_TEXT_CHARACTERS = 20_000;
const MIN_TEXT_CHARACTERS = 8;

/** Names of one meaning, in the spelling of `canonical`. */
const MEANINGS = new Map(
  Object.entries({
    maxtokens: ['maxcompletiontokens', 'maxoutputtokens', 'outputlimit'],
    stop: ['stopsequences'],
    inputtokens: ['prompttokens', 'prompttokencount'],
    outputtokens: ['completiontokens', 'candidatestokencount'],
    totaltokens: ['totaltokencount'],
    finishreason: ['stopreason'],
    parameters: ['inputschema', 'parametersjsonschema'],
    arguments: ['input', 'args'],
    toolcallid: ['tooluseid', 'callid'],
    mimetype: ['mediatype', 'format'],
    model: ['modelversion'],
    id: ['responseid'],
    effort: ['reasoningeffort', 'thinkinglevel'],
  }).flatMap(([name, others]) => others.map((other): [string, string] => [other, name])),
);

/** Values of one meaning, by the canonical name that they belong to. */
const SPELLINGS: Record<string, Record<string, string>> = {
  role: { model: 'assistant', developer: 'system' },
  finishreason: {
    end_turn: 'stop',
    stop_sequence: 'stop',
    completed: 'stop',
    max_tokens: 'length',
    tool_use: 'tool_calls',
    refusal: 'content_filter',
    safety: 'content_filter',
  },
};

/** Members that say what an object is; another shape says it without them. */
const SHAPES = new Set(['type', 'role', 'object', 'index', 'status']);
/** Values that are everywhere, so that they say nothing about where one went. */
const COMMON = new Set(['user', 'assistant', 'system', 'text', 'object', 'string', 'function', 'auto', 'message', '']);
const MIN_UNCOMMON_CHARACTERS = 3;

export interface AlignOptions {
  /** Fields that the gateway says it dropped, as `messages.content.name`. */
  dropped?: readonly string[];
}

export function align(
  left: readonly Leaf[],
  right: readonly Leaf[],
  { dropped = [] }: AlignOptions = {},
): AlignedLeaf[] {
  const pairs = new Map<Leaf, Leaf>();
  const taken = new Set<Leaf>();
  const lost = new Set(dropped.length > 0 ? left.filter((leaf) => isAmong(leaf, dropped)) : []);

  function pair(one: Leaf, other: Leaf): void {
    pairs.set(one, other);
    taken.add(other);
  }

  /** Pairs leaves of one key, each with the most alike of the first candidates; what says a shape, within objects of a pair. */
  function match(keyOf: (leaf: Leaf) => string | undefined, areRelated?: (one: Leaf, other: Leaf) => boolean): void {
    const places = new Map<string, Leaf[]>();
    for (const leaf of right) {
      const key = taken.has(leaf) ? undefined : keyOf(leaf);
      if (key === undefined) continue;
      const place = places.get(key);
      if (place) place.push(leaf);
      else places.set(key, [leaf]);
    }
    for (const queue of places.values()) queue.reverse();
    for (const leaf of left) {
      const key = pairs.has(leaf) || lost.has(leaf) ? undefined : keyOf(leaf);
      const queue = key === undefined ? undefined : places.get(key);
      if (!queue || queue.length === 0) continue;
      const found = mostAlike(leaf, queue, areRelated);
      const other = queue[found] as Leaf;
      if (areRelated && SHAPES.has(leaf.name) && !areRelated(leaf, other)) continue;
      queue.splice(found, 1);
      pair(leaf, other);
    }
  }

  match((leaf) => `${leaf.path} ${valueKey(leaf)}`);
  match((leaf) => (isCommon(leaf) ? undefined : valueKey(leaf)));
  match((leaf) => `${canonical(leaf.name)} ${valueKey(leaf)}`, relations(pairs));
  match((leaf) => leaf.path);
  const isFree = (leaf: Leaf) => !SHAPES.has(leaf.name) && !pairs.has(leaf) && !taken.has(leaf) && !lost.has(leaf);
  match(uniqueNames(left, right, isFree));
  const within = textsWithin(
    left.filter((leaf) => !pairs.has(leaf) && !lost.has(leaf)),
    right,
  );
  const rows = rowsOf(left, right, (leaf) => pairs.get(leaf) ?? within.get(leaf));
  return rows.map((row) => (row.left && lost.has(row.left) ? { ...row, mark: 'dropped', isTold: true } : row));
}

/** Position from the end of the queue, whose last leaf is the first one of the body. */
function mostAlike(leaf: Leaf, queue: readonly Leaf[], areRelated?: (one: Leaf, other: Leaf) => boolean): number {
  const last = queue.length - 1;
  let best = last;
  let most = -1;
  for (let index = last; index >= 0 && index > last - MAX_CANDIDATES; index--) {
    const other = queue[index] as Leaf;
    const likeness =
      (other.name === leaf.name ? 2 : canonical(other.name) === canonical(leaf.name) ? 1 : 0) +
      (other.parent === leaf.parent ? 2 : 0) +
      (areRelated?.(leaf, other) ? 4 : 0);
    if (likeness > most) [best, most] = [index, likeness];
  }
  return best;
}

/** Whether the objects of two leaves, or those around them in places of one name, have leaves that are a pair. */
function relations(pairs: ReadonlyMap<Leaf, Leaf>): (one: Leaf, other: Leaf) => boolean {
  const known = new Set<string>();
  for (const [one, other] of pairs) {
    for (const inner of around(one.parent)) for (const outer of around(other.parent)) known.add(`${inner}\n${outer}`);
  }
  return (one, other) => {
    let [inner, outer] = [one.parent, other.parent];
    for (let count = 0; count < MAX_AROUND; count++) {
      if (known.has(`${inner}\n${outer}`)) return true;
      const [left, right] = [lastStep(inner), lastStep(outer)];
      if (left.name !== right.name || left.name === '') return false;
      [inner, outer] = [left.rest, right.rest];
    }
    return false;
  };
}

/** A path, and those of the objects that it is in, from the inside. */
function around(path: string): string[] {
  const found = [path];
  while (found.length < MAX_AROUND && found.at(-1) !== '') found.push(lastStep(found.at(-1) as string).rest);
  return found;
}

/** The last member or index of a path, in the spelling of `canonical`. */
function lastStep(path: string): { name: string; rest: string } {
  const end = Math.max(path.lastIndexOf('.'), path.lastIndexOf('['), 0);
  return { name: canonical(path.slice(path[end] === '.' ? end + 1 : end)), rest: path.slice(0, end) };
}

/** The key of leaves whose meaning no other leaf of their side has. */
function uniqueNames(
  left: readonly Leaf[],
  right: readonly Leaf[],
  isFree: (leaf: Leaf) => boolean,
): (leaf: Leaf) => string | undefined {
  const counts = [left, right].map((side) => {
    const count = new Map<string, number>();
    for (const leaf of side) {
      const name = canonical(leaf.name);
      if (isFree(leaf)) count.set(name, (count.get(name) ?? 0) + 1);
    }
    return count;
  });
  return (leaf) => {
    const name = canonical(leaf.name);
    return counts.every((count) => count.get(name) === 1) ? name : undefined;
  };
}

/** Texts that the other side has as a part of a text, or in several parts. */
function textsWithin(free: readonly Leaf[], right: readonly Leaf[]): Map<Leaf, Leaf> {
  const found = new Map<Leaf, Leaf>();
  const places = right.filter(isText).slice(0, MAX_TEXTS);
  for (const leaf of free.filter(isText).slice(0, MAX_TEXTS)) {
    const text = String(leaf.value);
    const place = places.find(({ value }) => String(value).includes(text) || text.includes(String(value)));
    if (place) found.set(leaf, place);
  }
  return found;
}

function isText(leaf: Leaf): boolean {
  const { value, name } = leaf;
  if (typeof value !== 'string' || SHAPES.has(name) || isCommon(leaf)) return false;
  return value.length >= MIN_TEXT_CHARACTERS && value.length <= MAX_TEXT_CHARACTERS;
}

/** In the order of the left side; what only the right side has stands beside its neighbour there. */
function rowsOf(
  left: readonly Leaf[],
  right: readonly Leaf[],
  partnerOf: (leaf: Leaf) => Leaf | undefined,
): AlignedLeaf[] {
  const { ahead, behind } = neighbours(right, new Set(left.map(partnerOf)));
  const rows: AlignedLeaf[] = [];
  const addAll = (leaves: readonly Leaf[] = []) => {
    for (const added of leaves) rows.push({ mark: 'added', right: added });
  };
  const isShown = new Set<Leaf>();
  for (const leaf of left) {
    const partner = partnerOf(leaf);
    const isFirst = partner !== undefined && !isShown.has(partner);
    if (isFirst) addAll(ahead.get(partner));
    rows.push(partner ? { mark: markOf(leaf, partner), left: leaf, right: partner } : alone(leaf));
    if (isFirst) addAll(behind.get(partner));
    if (partner) isShown.add(partner);
  }
  addAll(behind.get(undefined));
  return rows;
}

/** Leaves without a partner, by the one that they stand ahead of, in the same object, or behind. */
function neighbours(right: readonly Leaf[], partners: ReadonlySet<Leaf | undefined>) {
  const ahead = new Map<Leaf, Leaf[]>();
  const behind = new Map<Leaf | undefined, Leaf[]>();
  let before: Leaf | undefined;
  let waiting: Leaf[] = [];
  const settle = (next?: Leaf) => {
    const isOwn = (leaf: Leaf) => leaf.parent === next?.parent && leaf.parent !== before?.parent;
    if (next) ahead.set(next, waiting.filter(isOwn));
    behind.set(
      before,
      waiting.filter((leaf) => !isOwn(leaf)),
    );
    waiting = [];
    before = next;
  };
  for (const leaf of right) {
    if (partners.has(leaf)) settle(leaf);
    else waiting.push(leaf);
  }
  settle();
  return { ahead, behind };
}

function alone(leaf: Leaf): AlignedLeaf {
  // Nothing says the same as null.
  return { mark: SHAPES.has(leaf.name) || leaf.value === null ? 'reshaped' : 'dropped', left: leaf };
}

function markOf(left: Leaf, right: Leaf): Mark {
  if (!isEqual(left.value, right.value)) return 'reshaped';
  if (left.path === right.path) return 'same';
  return left.name !== right.name && left.parent === right.parent ? 'renamed' : 'reshaped';
}

function isEqual(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
}

/** Equal for values that are the same but for their type, case or spelling. */
export function valueKey({ name, value }: Pick<Leaf, 'name' | 'value'>): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value).toLowerCase();
  return SPELLINGS[canonical(name)]?.[text] ?? text;
}

function isCommon(leaf: Leaf): boolean {
  const { value } = leaf;
  if (typeof value === 'boolean' || typeof value === 'object') return true;
  const text = String(value);
  return text.length < MIN_UNCOMMON_CHARACTERS || COMMON.has(text.toLowerCase());
}

function canonical(name: string): string {
  const plain = name.replaceAll('_', '').toLowerCase();
  return MEANINGS.get(plain) ?? plain;
}

function isAmong({ path }: Leaf, dropped: readonly string[]): boolean {
  const plain = path.replace(/\[\d+\]/g, '').replaceAll(' (JSON)', '');
  return dropped.some((name) => plain === name || plain.startsWith(`${name}.`) || plain.startsWith(`${name} `));
}
