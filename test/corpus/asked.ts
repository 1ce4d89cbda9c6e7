/** Requests independent of their protocol, and the check that all of one arrived. */

import { isObject, type Json } from '../../src/core/json/json.ts';
import { canonical, contrast } from './answer.ts';
import type { Finding } from './expectation.ts';
import { canonicalText } from './readers/chat.ts';

export interface Asked {
  /** Words by speaker, text by text, without white space. */
  system: string[];
  user: string[];
  assistant: string[];
  /** Name and canonical arguments. */
  calls: string[];
  results: string[];
  /** Kind, and the length of the data or the address. */
  media: string[];
  /** Name, description and the names of the parameters. */
  tools: string[];
  /** Everything that JSON Schemas say of shapes; dialects make them say it in other ways. */
  schemas: string[];
  settings: Settings;
}

export interface Settings {
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string;
  seed?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  candidates?: number;
  choice?: string;
  format?: string;
  /** False where several calls at once are unwanted. */
  parallel?: boolean;
  logprobs?: boolean;
  user?: string;
  /** Cache marks are set somewhere. */
  cache?: boolean;
  /** Absent where the model decides how much it thinks. */
  reasoning?: 'on' | 'off';
}

export function emptyAsked(): Asked {
  return {
    system: [],
    user: [],
    assistant: [],
    calls: [],
    results: [],
    media: [],
    tools: [],
    schemas: [],
    settings: {},
  };
}

/** The gateway's own words where a result can't hold media. */
const ATTACHED = /\s*\[(image|document|audio|video) attached below\]/g;

/** Words only: separators between texts are a matter of the protocol. */
export function words(text: unknown): string {
  return typeof text === 'string' ? text.replace(/\s+/g, '') : '';
}

/** Results are text here and JSON there: the same value counts as the same result. */
export function resultOf(value: Json): string {
  if (typeof value === 'string') {
    const text = value.replace(/^Error: /, '').replaceAll(ATTACHED, '');
    const read = canonicalText(text);
    return read.startsWith('broken') || text.trim() === '' ? words(text) : unwrapped(JSON.parse(text), read);
  }
  return unwrapped(value, canonical(value));
}

function unwrapped(value: Json, spelled: string): string {
  if (typeof value === 'string') return words(value);
  const names = isObject(value) ? Object.keys(value) : [];
  const isWrapper = names.length === 1 && ['output', 'result', 'error', 'content'].includes(names[0] ?? '');
  return isWrapper ? resultOf(value[names[0] ?? '']) : words(spelled);
}

export function addTool(
  asked: Asked,
  { name, description, schema }: { name: string; description: unknown; schema: Json },
): void {
  asked.tools.push(`${name} ${words(description)} [${propertiesOf(schema)}]`);
  asked.schemas.push(`${name} ${outline(schema ?? {})}`);
}

/** JSON Schema dialects differ; the names of what is asked for do not. */
export function addFormat(asked: Asked, schema: Json): void {
  asked.settings.format = `schema [${propertiesOf(schema)}]`;
  asked.schemas.push(outline(schema));
}

function propertiesOf(schema: Json): string {
  return Object.keys(schema?.properties ?? {})
    .sort()
    .join(',');
}

/** What a schema says of shapes, in one spelling for all dialects: names, types, what is required, what is allowed. */
function outline(schema: Json): string {
  if (!isObject(schema)) return '';
  const { properties, required = [], items, type, $defs, definitions, ...more } = schema;
  const types = [type ?? []].flat().map((name: string) => name.toLowerCase());
  if (schema.nullable) types.push('null');
  const members = Object.entries(properties ?? {}).map(
    ([name, inner]) => `${name}${required.includes(name) ? '!' : ''}:${outline(inner)}`,
  );
  const choices: Json[] = more.anyOf ?? more.any_of ?? more.oneOf ?? more.allOf ?? [];
  const values: Json[] = more.enum ?? (more.const === undefined ? [] : [more.const]);
  const parts = [
    types.sort().join('|'),
    members.length > 0 ? `{${members.sort().join(',')}}` : '',
    items ? `[${outline(items)}]` : '',
    choices.length > 0 ? `(${choices.map(outline).join('|')})` : '',
    values.length > 0 ? `=${values.map(String).sort().join('/')}` : '',
    more.$ref ?? '',
    ...Object.values($defs ?? definitions ?? {}).map(outline),
  ];
  const text = parts.join('');
  // A tool without arguments has an empty object, or no schema at all.
  return text === 'object' ? '' : text;
}

/** `dropped` are the names of what was said to be left out on the way. */
export function compareAsked(recorded: Asked, received: Asked, dropped: string[]): Finding[] {
  const findings: Finding[] = [];
  for (const speaker of ['system', 'user', 'assistant'] as const) {
    // System texts in the middle of a conversation are the user's where the protocol has no place for them.
    const elsewhere = speaker === 'system' ? received.user : [];
    if (recorded[speaker].length > 0)
      findings.push(contains('prompt', recorded[speaker], received[speaker], elsewhere));
  }
  const lists = { calls: 'history', results: 'history', media: 'attachments', tools: 'tools' } as const;
  for (const [name, feature] of Object.entries(lists) as [keyof typeof lists, Finding['feature']][]) {
    if (recorded[name].length > 0 || received[name].length > 0)
      findings.push(contains(feature, recorded[name], received[name]));
  }
  if (recorded.schemas.length > 0) {
    const { outcome, detail } = contains('tools', recorded.schemas, received.schemas);
    findings.push({ feature: 'schemas', outcome: outcome === 'equal' ? outcome : 'adapted', detail });
  }
  const names = Object.keys(recorded.settings) as (keyof Settings)[];
  return [...findings, ...names.map((name) => compareSetting(name, recorded, received, dropped))];
}

/** Adapted when everything is there, with words of the gateway around it. */
function contains(
  feature: Finding['feature'],
  recorded: string[],
  received: string[],
  elsewhere: string[] = [],
): Finding {
  const [one, other] = [[...recorded].sort().join(' '), [...received].sort().join(' ')];
  if (one === other || recorded.join('') === received.join('')) return { feature, outcome: 'equal' };
  const all = [...received, ...elsewhere].join('');
  const missing = recorded.find((text) => text !== '{}' && !all.includes(text));
  if (missing === undefined) return { feature, outcome: 'adapted', detail: contrast(one, other) };
  return {
    feature,
    outcome: 'different',
    detail: `${JSON.stringify(missing.slice(0, 100))} is missing: ${contrast(one, other)}`,
  };
}

function compareSetting(name: keyof Settings, recorded: Asked, received: Asked, dropped: string[]): Finding {
  const [one, other] = [recorded.settings[name], received.settings[name]];
  const feature = 'settings';
  if (one === other) return { feature, outcome: 'equal' };
  const detail = `${name} ${one} became ${other}`;
  const isNamed = dropped.some((word) => DROPPED_AS[name].test(word));
  const isRaised = name === 'maxTokens' && other === LEAST_OUTPUT && Number(one) < LEAST_OUTPUT;
  const isClamped = isRaised || (name === 'temperature' && Number(one) > 1 && other === 1);
  const isTold =
    ['choice', 'format'].includes(name) && received.system.join('').length > recorded.system.join('').length;
  return { feature, outcome: isNamed || isClamped || isTold ? 'adapted' : 'different', detail };
}

/** In tokens, of Responses. */
const LEAST_OUTPUT = 16;

/** How a setting is called in the lists of what was dropped, in any protocol. */
const DROPPED_AS: Record<keyof Settings, RegExp> = {
  maxTokens: /max/i,
  temperature: /temperature/i,
  topP: /top_?p/i,
  topK: /top_?k/i,
  stop: /stop/i,
  seed: /seed/i,
  frequencyPenalty: /frequency/i,
  presencePenalty: /presence/i,
  candidates: /candidate|^n$/i,
  choice: /choice|toolConfig|callingconfig/i,
  format: /format|schema/i,
  parallel: /parallel/i,
  logprobs: /logprobs/i,
  user: /user|safety_identifier|metadata/i,
  cache: /cache/i,
  reasoning: /reasoning|thinking|effort/i,
};
