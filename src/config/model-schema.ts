/** Configuration schema: models, their prices, rules and video capabilities. */

import type { TInteger, TSchema, TUnsafe } from 'typebox';
import * as Type from 'typebox';
import { EFFORTS } from '../core/effort.ts';
import type { Json } from '../core/json/json.ts';
import type { ModelRules } from '../core/model.ts';
import { PRICE_NAMES, UNITS, VIDEO_PRICE_NAME } from '../core/prices.ts';
import { STANDARD_TIERS } from '../core/tier-names.ts';
import type { VideoAbilities } from '../core/video.ts';
import { upstreamProtocols } from '../protocols/index.ts';

type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Name;

const PROTOCOLS = upstreamProtocols.map(({ id }) => id);
const MODALITIES = ['text', 'image', 'file', 'audio', 'video', 'embeddings'];

function flag(description: string): TSchema {
  return Type.Boolean({ description });
}

function oneOf(values: readonly string[], description: string): TSchema {
  return Type.Unsafe<string>({ type: 'string', enum: [...values], description });
}

function count(description: string): TInteger {
  return Type.Integer({ minimum: 1, description });
}

function modalities(description: string): TSchema {
  return Type.Array(oneOf(MODALITIES, 'A modality.'), { description });
}

const rules = {
  protocols: Type.Array(oneOf(PROTOCOLS, 'A protocol.'), {
    minItems: 1,
    description: 'Protocols of the provider that serve the model, in order of preference; absent means all.',
  }),
  token_field: oneOf(['max_tokens', 'max_completion_tokens'], 'Name of the output limit on chat completions.'),
  max_output: count('Largest output in tokens.'),
  sampling: oneOf(['always', 'never', 'without-reasoning'], 'When temperature, top_p and top_k are accepted.'),
  both_sampling: flag('Temperature and top_p are accepted together.'),
  penalties: flag('Frequency and presence penalties are accepted.'),
  logprobs: flag('Log probabilities are available.'),
  logit_bias: flag('A logit bias is accepted.'),
  stop: flag('Stop sequences are accepted.'),
  forced_choice: flag('A tool call can be demanded.'),
  prefill: flag('A last assistant turn is continued.'),
  mid_system: flag('System turns are accepted after the first user turn.'),
  system_role: oneOf(['system', 'developer'], 'Role of system turns on chat completions.'),
  custom_tools: flag(
    'Free-text tools are accepted; else they are functions with one text. Absent means on the Responses protocol only.',
  ),
  phases: flag('Texts of earlier answers are marked as commentary or final answer on the Responses protocol.'),
  summaries: flag('Summaries of the reasoning can be asked for on the Responses protocol.'),
  reasoning: oneOf(['effort', 'adaptive', 'budget', 'level', 'always', 'none'], 'How reasoning is asked for.'),
  efforts: Type.Array(oneOf(EFFORTS, 'An effort.'), { description: 'Reasoning efforts the model knows.' }),
  reasoning_off: flag('Reasoning can be switched off.'),
  budget: Type.Object(
    {
      min: Type.Integer({ minimum: 0, description: 'Smallest budget in tokens.' }),
      max: Type.Integer({ minimum: 0, description: 'Largest budget in tokens.' }),
    },
    { additionalProperties: false, description: 'Limits of the reasoning budget.' },
  ),
  tools_need_no_reasoning: flag('Tools are only accepted without reasoning.'),
  web_search: flag('Web search is offered, also beside other tools.'),
  schema_with_tools: flag('JSON output and tools are accepted together.'),
  schema: flag('Output by JSON Schema is native.'),
  embedding_tokens: flag("An embedding model takes ids of OpenAI's tokenizer in place of text."),
  embedding_format: oneOf(
    ['float'],
    'How the server of an embedding model writes vectors, whatever a request asks for.',
  ),
  image_tokens: count('Most tokens of an image in the input, which budgets hold.'),
  result_media: flag('Media may stand inside tool results.'),
  input_modalities: modalities('What the model reads.'),
  cache_marks: oneOf(
    ['prompt_cache_breakpoint', 'cache_control'],
    'How prompt-cache breakpoints are spelled on chat completions.',
  ),
  reasoning_history: oneOf(['required', 'forbidden', 'accepted'], 'Whether earlier reasoning is sent back.'),
} satisfies Record<SnakeCase<keyof ModelRules>, TSchema>;

const price = {
  pattern: '^[0-9]+(\\.[0-9]+)?$',
  errorMessage: 'must be a decimal number of USD in quotes, e.g. "0.0000025"',
};

/** Not those of the standard tier, whose prices are `pricing`. */
const OTHER_TIER = Type.String({ pattern: `^(?!(${[...STANDARD_TIERS].join('|')})$).` });

/** A list of prices. Another name would be no price, and free. */
function priceList(options: { description: string; minProperties?: number }): TUnsafe<Record<string, string>> {
  const properties = PRICE_NAMES.map((name) => [
    name,
    Type.String({ ...price, description: `USD per ${UNITS[name] ?? 'token'}.` }),
  ]);
  return Type.Unsafe(
    Type.Partial(Type.Object(Object.fromEntries(properties)), { ...options, additionalProperties: false }),
  );
}

export const pricing = priceList({
  description: 'USD per token as quoted decimals: prompt, completion, input_cache_read, ...',
});

/** One price is required: the cost of a tier without prices is unknown, and no budget would count it. */
const tierPricing = priceList({
  minProperties: 1,
  description: 'USD per token as quoted decimals, as in pricing.',
});

function texts(description: string): TSchema {
  return Type.Array(Type.String({ minLength: 1 }), { description });
}

const video = {
  durations: Type.Array(count('Seconds.'), { description: 'Lengths in seconds.' }),
  resolutions: texts('E.g. 720p.'),
  aspect_ratios: texts('E.g. 16:9.'),
  sizes: texts('E.g. 1280x720.'),
  frames: Type.Array(oneOf(['first_frame', 'last_frame'], 'A frame.'), { description: 'Frames that can be given.' }),
  references: Type.Object(
    {
      image: Type.Optional(count('Images.')),
      video: Type.Optional(count('Videos.')),
      audio: Type.Optional(count('Sounds.')),
    },
    { additionalProperties: false, description: 'How many references of each type it takes.' },
  ),
  audio: flag('Sound can be asked for or declined.'),
  seed: flag('A seed is accepted.'),
  negative_prompt: flag('A negative prompt is accepted.'),
  count: count('Videos of one task at most.'),
  prompt_optional: flag('An image alone is enough.'),
  image_required: flag('It needs an image.'),
  passthrough: texts('Keys of provider.options that are passed on.'),
  defaults: Type.Object(
    {
      duration: Type.Optional(count('Seconds.')),
      resolution: Type.Optional(Type.String({ description: 'E.g. 720p.' })),
      aspect_ratio: Type.Optional(Type.String({ description: 'E.g. 16:9.' })),
      size: Type.Optional(Type.String({ description: 'E.g. 1280x720.' })),
    },
    { additionalProperties: false, description: 'What holds where the caller says nothing.' },
  ),
  prices: Type.Record(Type.String({ pattern: VIDEO_PRICE_NAME.source }), Type.String(price), {
    additionalProperties: false,
    description: 'USD as quoted decimals: per-video-second, per-video-second-1080p, per-video, ...',
  }),
} satisfies Record<SnakeCase<keyof VideoAbilities>, TSchema>;

export const modelSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, description: 'Id of the model as the upstream knows it.' }),
    base: Type.Optional(
      Type.String({
        pattern: '^[^/\\s]+/\\S+$',
        errorMessage: 'must be <vendor>/<model>, e.g. openai/gpt-5.4',
        description:
          'Model of the catalog that it is where its id does not say so, as <vendor>/<model>; its facts, prices and rules hold.',
      }),
    ),
    name: Type.Optional(Type.String({ description: 'Name to display.' })),
    context_length: Type.Optional(count('Context window in tokens.')),
    max_completion_tokens: Type.Optional(count('Largest output in tokens.')),
    pricing: Type.Optional(pricing),
    service_tiers: Type.Optional(
      Type.Record(OTHER_TIER, tierPricing, {
        additionalProperties: false,
        description: 'Prices by service tier, e.g. priority or flex; all prices of a token that a tier has.',
      }),
    ),
    input_modalities: Type.Optional(modalities('What the model reads.')),
    output_modalities: Type.Optional(modalities('What the model writes.')),
    supported_parameters: Type.Optional(
      Type.Array(Type.String(), { description: 'Request parameters the catalog lists, e.g. temperature, tools.' }),
    ),
    created: Type.Optional(Type.Integer({ minimum: 0, description: 'When it appeared, in Unix seconds.' })),
    video: Type.Optional(
      Type.Partial(Type.Object(video), {
        additionalProperties: false,
        description: 'What it accepts as a maker of videos; with it the model is one.',
      }),
    ),
    rules: Type.Optional(
      Type.Partial(Type.Object(rules), {
        additionalProperties: false,
        description: 'Parameters that the model takes; absent ones follow the newest models of its provider.',
      }),
    ),
  },
  { additionalProperties: false },
);

interface PriceProblem {
  path: string;
  message: string;
}

const IF_FREE = 'if these tokens are free, set it to "0"';
const IF_NO_TEXT = `${IF_FREE}; an embedding model needs none if it has output_modalities: [embeddings]`;

/** Lists of prices with one of input or output missing. Empty lists are no problem: the price is unknown then. */
export function priceProblems({ providers, models }: { providers?: Json; models?: Json }): PriceProblem[] {
  const problems: PriceProblem[] = [];
  for (const [id, provider] of Object.entries<Json>(providers ?? {})) {
    if (!Array.isArray(provider?.models)) continue;
    for (const [index, model] of provider.models.entries()) {
      const path = `providers.${id}.models[${index}]`;
      const isEmbedding = model?.output_modalities?.includes?.('embeddings') === true;
      const needed = { prompt: IF_FREE, ...(!isEmbedding && { completion: IF_NO_TEXT }) };
      problems.push(...missingPrices(model?.pricing, needed, `${path}.pricing`));
      for (const [tier, prices] of Object.entries<Json>(model?.service_tiers ?? {}))
        problems.push(...missingPrices(prices, needed, `${path}.service_tiers.${tier}`));
    }
  }
  for (const [name, model] of Object.entries<Json>(models ?? {})) {
    for (const [index, endpoint] of (model?.endpoints ?? []).entries())
      problems.push(
        ...missingPrices(
          endpoint?.pricing,
          { prompt: IF_FREE, completion: IF_FREE },
          `models.${name}.endpoints[${index}].pricing`,
        ),
      );
  }
  return problems;
}

/** `needed` has the remedy for each price that is missing. */
function missingPrices(prices: Json, needed: Record<string, string>, path: string): PriceProblem[] {
  const isSet = (name: string) => prices[name] !== undefined && prices[name] !== null;
  if (!prices || !Object.keys(prices).some(isSet)) return [];
  return Object.entries(needed)
    .filter(([name]) => !isSet(name))
    .map(([name, remedy]) => ({ path: `${path}.${name}`, message: `is missing; ${remedy}` }));
}
