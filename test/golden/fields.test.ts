/**
 * Every field of a request has a known fate at every upstream of another protocol: its value arrives, it is adapted in a way
 * that is listed here, it is refused by name, or `x-polygate-dropped` names it. A field without a fate fails.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { isObject, type Json, parseObject } from '../../src/core/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import { protocols } from '../../src/protocols/index.ts';
import { ADAPTED, type Adaptation, ALIASES, ALONE, ANY, CHOICES, REFUSED } from './fates.ts';

interface Leaf {
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

function isCarried({ value }: Leaf, sent: Leaf[]): boolean {
  if (typeof value === 'boolean' || value === '') return false;
  return sent.some(({ value: other }) =>
    typeof value === 'string' && typeof other === 'string' ? other.includes(value) : other === value,
  );
}

function isAdapted(adaptation: Adaptation, body: Json): boolean {
  if (typeof adaptation === 'string') return true;
  if (Array.isArray(adaptation)) return adaptation.some((one) => isAdapted(one, body));
  return Object.entries(adaptation).every(([path, value]) => {
    const found = at(body, path);
    return value === ANY ? found !== undefined : JSON.stringify(found) === JSON.stringify(value);
  });
}

/** A name stands for a field and all below it, wherever the field may stand. */
function isNamed({ paths }: Leaf, dropped: string[]): boolean {
  const names = dropped.flatMap((name) => [name, ...(ALIASES[name] ?? [])]);
  return paths.some((path) => names.some((name) => `.${path}.`.includes(`.${name}.`)));
}

interface Encoded {
  body: Json;
  dropped: string[];
}

function encode(from: Protocol, to: Protocol, { body, rules }: { body: Json; rules: ModelRules }): Encoded {
  from.check(body, 'generate');
  const request = from.decodeRequest(structuredClone(body));
  if (body.stream) request.stream = true;
  const encoded = to.encodeRequest(request, { origin: 'upstream/family', model: 'upstream-model', rules });
  return { body: encoded.body, dropped: [...request.dropped, ...encoded.dropped.map(from.parameterName)] };
}

function unaccounted(pair: string, asked: Json, { body, dropped }: Encoded): string[] {
  const sent = leaves(body).flatMap(opened);
  const [from = ''] = pair.split(' ');
  const known = [...Object.entries(ADAPTED[from] ?? {}), ...Object.entries(ADAPTED[pair] ?? {})];
  const lost = leaves(asked)
    .flatMap(opened)
    .filter((leaf) => {
      if (isStructure(leaf.path)) return false;
      const fits = known.filter(
        ([path]) => path === `${leaf.path}=${leaf.value}` || `${leaf.path}.`.startsWith(`${path}.`),
      );
      const adapted = fits.some(([, adaptation]) => isAdapted(adaptation, body));
      return !isCarried(leaf, sent) && !adapted && !isNamed(leaf, dropped);
    });
  return [...new Set(lost.map(({ path, value }) => `${path} = ${JSON.stringify(value)}`))];
}

/** What says what an object is: if that were lost, the rest of the object would be missing. */
function isStructure(path: string): boolean {
  return path === 'model' || /(^|\.)role$/.test(path) || (/(^|\.)type$/.test(path) && !CHOICES.has(path));
}

/** Models that take all, the newest models, and models that take little. */
const RULES: Record<string, ModelRules> = {
  'a lenient model': {
    ...{ sampling: 'always', bothSampling: true, forcedChoice: true, prefill: true, reasoningOff: true },
    ...{ cacheMarks: 'cache_control', reasoningHistory: 'accepted' },
  },
  'a model that nothing is known of': {},
  'a model that takes little': {
    ...{ sampling: 'never', bothSampling: false, penalties: false, logprobs: false, logitBias: false, stop: false },
    ...{ forcedChoice: false, midSystem: false, reasoning: 'none', schema: false, resultMedia: false },
  },
};

function everythingOf(protocol: Protocol): Json {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'requests', protocol.id, 'everything.json'), 'utf8')).body;
}

for (const from of protocols) {
  for (const to of protocols.filter((other) => other !== from)) {
    const pair = `${from.id} ${to.id}`;
    describe(`fields from ${from.id} to ${to.id}`, () => {
      for (const [model, rules] of Object.entries(RULES)) {
        test(`everything, for ${model}`, () => {
          const body = everythingOf(from);
          assert.deepEqual(unaccounted(pair, body, encode(from, to, { body, rules })), []);
        });
      }
      for (const change of ALONE[from.id] ?? []) {
        test(`beside nothing else: ${JSON.stringify(change)}`, () => {
          const body = { ...plainOf(from), ...change };
          const encoded = encode(from, to, { body, rules: RULES['a lenient model'] ?? {} });
          assert.deepEqual(unaccounted(pair, change, encoded), []);
        });
      }
      for (const [param, change] of Object.entries(REFUSED[pair] ?? {})) {
        test(`refused by name: ${param}`, () => {
          const refused = (error: unknown) =>
            error instanceof GatewayError &&
            error.code.startsWith('unsupported_') &&
            [error.param, from.parameterName(error.param ?? '')].includes(param);
          assert.throws(() => encode(from, to, { body: { ...plainOf(from), ...change }, rules: {} }), refused);
        });
      }
    });
  }
}

const PLAIN: Record<string, Json> = {
  chat: { model: 'provider/model', messages: [{ role: 'user', content: 'Hi' }] },
  messages: { model: 'provider/model', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  generate: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

function plainOf({ id }: Protocol): Json {
  return structuredClone(PLAIN[id]);
}
