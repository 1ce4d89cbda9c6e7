/** Filters of requests as words, such as `model:openai/gpt-4o key:ci slower:2000 dropped`, or the id of a request. */

import type { Filters } from './query.ts';

export const CHOICES = {
  status: ['completed', 'partial', 'failed', 'cancelled', 'interrupted'],
  protocol: ['chat', 'messages', 'generate', 'responses'],
} as const;

/** Names whose value is any text. */
const FREE = ['model', 'requested', 'provider', 'code', 'session'] as const;
const NAMES = [...FREE, 'tag', 'without', 'key', 'status', 'protocol', 'wire', 'slower', 'cost'];
const FLAGS = ['dropped', 'fellback', 'estimated'];

export const FILTER_EXAMPLE = 'model:… key:… status:… wire:messages>chat slower:2000';

export interface FoundWords {
  filters: Partial<Filters>;
  /** Id of the request to show. */
  open?: string;
}

/** Hash of the key with this name or hash. Throws `WordError`. */
export type KeyFinder = (name: string) => Promise<string>;

/** Fault of a word, in a sentence for its author. */
export class WordError extends Error {}

/** A space within quotes belongs to the word. */
const WORD = /(?:[^\s"]|"[^"]*")+/g;
const REQUEST_ID = /^req_\w{8,100}$/;
const MILLISECONDS = /^\d{1,9}$/;
const USD = /^\d{1,6}(\.\d{1,12})?$/;
const TAG = /^[^=]+=./;
const TAG_NAME = /^[a-z][a-z0-9_-]{0,31}$/;

/** Throws `WordError` for the first word that is none. */
export async function readWords(text: string, findKey: KeyFinder): Promise<FoundWords> {
  const found: FoundWords = { filters: {} };
  for (const word of text.match(WORD) ?? []) {
    if (REQUEST_ID.test(word)) found.open = word;
    else Object.assign(found.filters, await readWord(word, findKey));
  }
  return found;
}

async function readWord(word: string, findKey: KeyFinder): Promise<Partial<Filters>> {
  const mark = word.indexOf(':');
  const name = mark < 0 ? '' : word.slice(0, mark);
  if (word === 'dropped') return { dropped: true };
  if (word === 'fellback') return { fell_back: true };
  if (word === 'estimated') return { estimated: true };
  if (!NAMES.includes(name)) return { model: modelOf(word) };
  const value = word.slice(mark + 1).replaceAll('"', '');
  if (value === '') throw new WordError(`${name}: needs a value behind it.`);
  switch (name) {
    case 'key':
      return { key: await findKey(value) };
    case 'status':
    case 'protocol':
      return { [name]: checked(name, value, (CHOICES[name] as readonly string[]).includes(value), oneOf(name)) };
    case 'wire':
      return wireOf(value);
    case 'slower':
      return { slower_than: Number(checked(name, value, MILLISECONDS.test(value), 'milliseconds, e.g. slower:2000')) };
    case 'cost':
      return { cost_above: checked(name, value, USD.test(value), 'USD, e.g. cost:0.05') };
    case 'tag':
      return { tag: checked(name, value, TAG.test(value), 'a name and a value, e.g. tag:team=search') };
    case 'without':
      return { without_tag: checked(name, value, TAG_NAME.test(value), 'the name of a tag, e.g. without:team') };
    default:
      return { [name]: value };
  }
}

/** As the list writes them, or whole. */
const WIRES: Record<string, string> = { msg: 'messages', gen: 'generate', resp: 'responses' };

/** `messages>chat`: the protocols of the client and of the endpoint; each side may be absent. */
function wireOf(value: string): Partial<Filters> {
  const [from = '', to = '', ...more] = value
    .replace('→', '>')
    .split('>')
    .map((side) => WIRES[side] ?? side);
  const isKnown = (side: string) => side === '' || (CHOICES.protocol as readonly string[]).includes(side);
  const isValid = more.length === 0 && isKnown(from) && isKnown(to) && from + to !== '';
  checked('wire', value, isValid, 'protocols of the client and of the endpoint, e.g. wire:messages>chat');
  return { ...(from && { protocol: from }), ...(to && { upstream_protocol: to }) };
}

/** Only models have a slash, which stands before a colon: `ollama/qwen3:8b`. */
function modelOf(word: string): string {
  if (/^[^:/]+\/./.test(word)) return word;
  const names = NAMES.map((name) => `${name}:`).join(', ');
  throw new WordError(
    `“${word}” is no filter. Use ${names}, ${FLAGS.join(', ')}, a model such as openai/gpt-4o, or the id of a request.`,
  );
}

function oneOf(name: keyof typeof CHOICES): string {
  return `one of ${CHOICES[name].join(', ')}`;
}

function checked(name: string, value: string, isValid: boolean, allowed: string): string {
  if (isValid) return value;
  throw new WordError(`${name}: must be ${allowed}; “${value}” is not.`);
}
