/** Every field of a request for embeddings, as the official SDKs' types have it, is carried, named as dropped, or refused by name. */

import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS } from '../gateway/harness.ts';
import { FieldCases } from './field-cases.ts';
import { testFields } from './field-fates.ts';
import { readSdkTypes, SAMPLE } from './sdk-types.ts';

const MODULES = join(import.meta.dirname, 'node_modules');
const openai = readSdkTypes(join(MODULES, 'openai/resources/embeddings.d.ts'));
const genai = readSdkTypes(join(MODULES, '@google/genai/dist/genai.d.ts'));
const WIRES = ['chat', 'generate'] as const;

const vector = [0.6, 0.8];
/** An answer in both protocols, for one input. */
const EMBEDDED = {
  answer: {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: vector }],
    model: 'm',
    usage: { prompt_tokens: 1, total_tokens: 1 },
    embeddings: [{ values: vector }],
    embedding: { values: vector },
  },
  model: '{ id: m, output_modalities: [embeddings] }',
};

testFields('embeddings of OpenAI', {
  ...EMBEDDED,
  protocol: 'chat',
  wires: WIRES,
  headers: HEADERS.chat,
  path: () => '/v1/embeddings',
  body: (given, model) => ({ ...given, model }),
  cases: () =>
    new FieldCases(openai, {}).of(
      openai.membersOf('EmbeddingCreateParams').filter(({ name }) => name !== 'model'),
      { path: '', base: { input: SAMPLE }, place: (given) => given },
    ),
  leastCases: 5,
  withoutEffect: [['the gateway writes the vectors as asked', /^encoding_format = "(float|base64)"$/]],
});

/** Options of the SDK itself. */
const OWN = ['httpOptions', 'abortSignal'];
const embedded = (given: Json): Json => ({ content: { parts: [{ text: SAMPLE }] }, ...given });

testFields('embeddings of Gemini', {
  ...EMBEDDED,
  protocol: 'generate',
  wires: WIRES,
  headers: HEADERS.generate,
  path: (model) => `/gemini/v1beta/models/${model}:embedContent`,
  body: (given) => given,
  *cases() {
    const cases = new FieldCases(genai, {});
    const options = genai.membersOf('EmbedContentConfig').filter(({ name }) => !OWN.includes(name));
    yield* cases.of(options, { path: '', base: {}, place: embedded });
    yield* cases.of(genai.membersOf('Part'), {
      path: 'content.parts',
      base: { text: SAMPLE },
      place: (part) => embedded({ content: { parts: [part] } }),
    });
  },
  leastCases: 50,
  withoutEffect: [],
});
