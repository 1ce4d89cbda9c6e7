/** The fields of a request, and what becomes of each at an upstream of another protocol. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from '../../src/core/chat.ts';
import { isObject, type Json, parseObject } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import type { Protocol, UpstreamProtocol } from '../../src/core/protocol.ts';
import { type Adaptation, ANY } from './adaptation.ts';
import { ADAPTED, ALIASES, CHOICES } from './fates.ts';

/** Characters. */
const SHORTEST_SENTENCE = 5;

export interface Leaf {
  /** e.g. `messages.content.text`, without the positions in lists. */
  path: string;
  /** Also by the type or name of the objects on the way, as the header names them: `messages.content.tool_reference.tool_name`. */
  paths: string[];
  value: Json;
}

function leaves(value: Json, path = '', paths: string[] = [path]): Leaf[] {
  if (Array.isArray(value))
    return value.flatMap((item) =>
      leaves(
        item,
        path,
        paths.flatMap((one) => spellings(one, item)),
      ),
    );
  if (!isObject(value)) return [{ path, paths, value }];
  const below = (prefix: string, key: string) => (prefix === '' ? key : `${prefix}.${key}`);
  return Object.entries(value).flatMap(([key, inner]) =>
    leaves(inner, below(path, key), [
      ...new Set(paths.map((one) => below(one, key).replace('content.content', 'content'))),
    ]),
  );
}

function spellings(path: string, item: Json): string[] {
  return [
    path,
    ...[item?.type, item?.name].filter((name) => typeof name === 'string').map((name) => `${path}.${name}`),
  ];
}

/** The JSON inside a text, and the bytes inside a data URL, count as if they stood there themselves. */
function opened(leaf: Leaf): Leaf[] {
  const { path, value } = leaf;
  if (typeof value !== 'string') return [leaf];
  if (value.startsWith('data:')) {
    const [, mime, data] = /^data:([^;]*);base64,(.*)$/.exec(value) ?? [];
    return [mime, data].map((part) => ({ ...leaf, value: part }));
  }
  const object = parseObject(value);
  return object === undefined ? [leaf] : leaves(object, path);
}

function at(body: Json, path: string): Json {
  return path.split('.').reduce((value, key) => value?.[key], body);
}

/** A sentence may stand among others; what is shorter than a name might be part of any word. */
function isCarried({ value }: Leaf, sent: Leaf[]): boolean {
  if (typeof value === 'boolean' || value === '') return false;
  const isSentence = typeof value === 'string' && value.length >= SHORTEST_SENTENCE;
  return sent.some(({ value: other }) =>
    isSentence && typeof other === 'string' ? other.includes(value) : other === value,
  );
}

/** The way of it that the body shows. */
function shown(adaptation: Adaptation, body: Json): Exclude<Adaptation, Adaptation[]> | undefined {
  if (typeof adaptation === 'string') return adaptation;
  if (Array.isArray(adaptation)) {
    for (const one of adaptation) {
      const way = shown(one, body);
      if (way !== undefined) return way;
    }
    return undefined;
  }
  const stands = Object.entries(adaptation).every(([path, value]) => {
    const found = at(body, path);
    return value === ANY ? found !== undefined : JSON.stringify(found) === JSON.stringify(value);
  });
  return stands ? adaptation : undefined;
}

/** The name in the header that stands for a field: for all below it as well, wherever the field may stand. */
function nameOf({ paths }: Leaf, dropped: string[]): string | undefined {
  return dropped.find((name) =>
    [name, ...(ALIASES[name] ?? [])].some((known) => paths.some((path) => `.${path}.`.includes(`.${known}.`))),
  );
}

/** Ids that tell a family of models, whose abilities the protocol asks for. */
const MODELS: Record<string, string> = { converse: 'amazon.nova-2-lite-v1:0' };

/** As the gateway does it for upstreams that fetch nothing. */
export function inlineMedia(parts: readonly Part[]): void {
  for (const part of parts) {
    if (part.type === 'result') inlineMedia(part.parts);
    if (part.type !== 'media' || part.url === undefined) continue;
    part.data = part.kind === 'image' ? 'iVBORw0KGgo=' : 'JVBERi0xLjQK';
    delete part.url;
  }
}

export interface Encoded {
  body: Json;
  dropped: string[];
}

export function encode(
  from: Protocol,
  to: UpstreamProtocol,
  { body, rules }: { body: Json; rules: ModelRules },
): Encoded {
  from.operations.complete.check(body);
  const request = from.operations.complete.decodeRequest(structuredClone(body));
  if (body.stream) request.stream = true;
  if (to.id === 'converse') inlineMedia(request.turns.flatMap(({ parts }) => parts));
  const encoded = to.operations.complete.encodeRequest(request, {
    origin: 'upstream/family',
    model: MODELS[to.id] ?? 'upstream-model',
    rules,
  });
  return { body: encoded.body, dropped: [...request.dropped, ...encoded.dropped.map(from.parameterName)] };
}

export type Fate =
  | { type: 'kept' }
  /** What stands in the upstream's body instead; or in words why nothing has to. */
  | { type: 'adapted'; how: Exclude<Adaptation, Adaptation[]> }
  | { type: 'dropped'; name: string };

/** Every field of what was asked, and its fate; none for a field that vanished. */
export function fatesOf(pair: string, asked: Json, { body, dropped }: Encoded): { leaf: Leaf; fate?: Fate }[] {
  const sent = leaves(body).flatMap(opened);
  const [from = ''] = pair.split(' ');
  const known = [...Object.entries(ADAPTED[from] ?? {}), ...Object.entries(ADAPTED[pair] ?? {})];
  const fateOf = (leaf: Leaf): Fate | undefined => {
    if (dropped.includes(leaf.path)) return { type: 'dropped', name: leaf.path };
    if (isCarried(leaf, sent)) return { type: 'kept' };
    const fits = known.filter(
      ([path]) => path === `${leaf.path}=${leaf.value}` || `${leaf.path}.`.startsWith(`${path}.`),
    );
    const ways = fits.map(([, adaptation]) => shown(adaptation, body)).filter((way) => way !== undefined);
    const name = nameOf(leaf, dropped);
    const how = ways.find((way) => typeof way !== 'string') ?? (name === undefined ? ways[0] : undefined);
    if (how !== undefined) return isSame(leaf, how) ? { type: 'kept' } : { type: 'adapted', how };
    return name === undefined ? undefined : { type: 'dropped', name };
  };
  const fields = leaves(asked).flatMap(opened);
  return fields.filter(({ path }) => !isStructure(path)).map((leaf) => ({ leaf, fate: fateOf(leaf) }));
}

/** A truth value may be found anywhere: only in its place it is the same. */
function isSame({ value }: Leaf, how: Exclude<Adaptation, Adaptation[]>): boolean {
  const values = typeof how === 'string' ? [] : Object.values(how);
  return values.length > 0 && values.every((other) => other === value);
}

/** What says what an object is: if that were lost, the rest of the object would be missing. */
function isStructure(path: string): boolean {
  return path === 'model' || /(^|\.)role$/.test(path) || (/(^|\.)type$/.test(path) && !CHOICES.has(path));
}

export function everythingOf(protocol: Protocol): Json {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'requests', protocol.id, 'everything.json'), 'utf8')).body;
}

/** A model that takes all. */
export const LENIENT: ModelRules = {
  ...{ sampling: 'always', bothSampling: true, forcedChoice: true, prefill: true, reasoningOff: true },
  ...{ cacheMarks: 'cache_control', reasoningHistory: 'accepted' },
};

const PLAIN: Record<string, Json> = {
  chat: { model: 'provider/model', messages: [{ role: 'user', content: 'Hi' }] },
  messages: { model: 'provider/model', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  generate: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

export function plainOf({ id }: Protocol): Json {
  return structuredClone(PLAIN[id]);
}
