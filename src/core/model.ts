/** Catalog model: published facts, and rules for requests to the model. */

import type { Effort } from './chat.ts';
import type { VideoAbilities } from './video.ts';

export type Modality = 'text' | 'image' | 'file' | 'audio' | 'video' | 'embeddings';

/** USD as decimal strings, per token; `web_search`, `web_search_request` and `request` per unit. Keys as in the public catalog. */
export type Pricing = Record<string, string>;

/** Prices that replace the model's own, key by key, for a whole request whose prompt has at least `minPromptTokens`. */
export interface PriceTier {
  minPromptTokens: number;
  pricing: Pricing;
}

/** Prices of a model, by the length of the prompt. */
export interface Prices {
  pricing: Pricing;
  /** By rising threshold; absent if the price does not depend on the prompt length. */
  priceTiers?: PriceTier[];
}

/** Factor of the standard prices of tokens by their names; `*` for all others. */
export type PriceFactors = Readonly<Record<string, string>>;

/** Prices of a service tier: by prices of its own, or by factors of the standard ones. */
export type ServiceTier = { pricing: Pricing } | { factors: PriceFactors };

export interface CatalogModel extends Prices {
  /** `<provider>/<model_id>`. */
  id: string;
  provider: string;
  /** Upstream model id. */
  upstreamId: string;
  /** Model of the catalog that it is, as `<vendor>/<id>`; absent if its own id says so. */
  base?: string;
  canonicalSlug: string;
  name: string;
  description: string;
  /** Unix seconds; 0 if unknown. */
  created: number;
  ownedBy: string;
  version: string;
  contextLength: number;
  maxOutput: number;
  inputModalities: Modality[];
  outputModalities: Modality[];
  tokenizer: string;
  instructType: string | null;
  /** Service tiers that are known to have prices, by name, such as `priority` and `flex`. */
  serviceTiers?: Readonly<Record<string, ServiceTier>>;
  isModerated: boolean;
  supportedParameters: string[];
  expirationDate: string | null;
  rules: ModelRules;
  /** Video abilities; absent for other models. */
  video?: VideoAbilities;
  /** True if neither the catalog nor the configuration lists it: its price is unknown. */
  unlisted?: boolean;
}

/**
 * Request rules of a model. Every field is optional; an absent field means the rule of the newest model, so that an id the
 * catalog doesn't list gets the newest rules of its provider.
 */
export interface ModelRules {
  /** Protocols of its provider that serve the model, in order of preference; if absent, all. */
  protocols?: readonly string[];
  /** Name of the output limit in chat completions. */
  tokenField?: 'max_tokens' | 'max_completion_tokens';
  /** Maximum output in tokens; also the `max_tokens` sent if the target requires one and the client gave none. */
  maxOutput?: number;
  /** Condition under which `temperature`, `top_p` and `top_k` are accepted. */
  sampling?: 'always' | 'never' | 'without-reasoning';
  /** Both `temperature` and `top_p` in one request are accepted. */
  bothSampling?: boolean;
  penalties?: boolean;
  logprobs?: boolean;
  logitBias?: boolean;
  stop?: boolean;
  /** `required`, `any` and named tool choices are accepted. */
  forcedChoice?: boolean;
  /** A final assistant turn (prefill) is continued. */
  prefill?: boolean;
  /** System turns are accepted after the first user turn. */
  midSystem?: boolean;
  /** Role of system turns in chat completions. */
  systemRole?: 'system' | 'developer';
  /** Free-text tools are accepted; else they are functions with one text. Absent means on the Responses protocol only. */
  customTools?: boolean;
  /** Texts of earlier answers say whether they were said on the way or were the answer. */
  phases?: boolean;
  /** Summaries of the reasoning can be requested. */
  summaries?: boolean;
  /** Web search is offered, also beside other tools; absent means by messages upstreams, and by others where nothing else is asked for. */
  webSearch?: boolean;
  /** Way in which reasoning is requested. `always` cannot be configured; `none` cannot reason. */
  reasoning?: 'effort' | 'adaptive' | 'budget' | 'level' | 'always' | 'none';
  efforts?: Effort[];
  /** Reasoning can be switched off. */
  reasoningOff?: boolean;
  /** Smallest and largest reasoning budget in tokens. */
  budget?: { min: number; max: number };
  /** Function tools are only accepted with effort `none`. */
  toolsNeedNoReasoning?: boolean;
  /** JSON output and function tools are accepted together. */
  schemaWithTools?: boolean;
  /** JSON Schema output is native. */
  schema?: boolean;
  /** An embedding model takes ids of OpenAI's tokenizer in place of text. */
  embeddingTokens?: boolean;
  /** Vector encoding of an embedding server; if absent, it obeys `encoding_format`. */
  embeddingFormat?: 'float';
  /** Most tokens of an image in the input; if absent, the most that any provider counts. */
  imageTokens?: number;
  /** Media are accepted inside tool results. */
  resultMedia?: boolean;
  /** Input modalities; if absent, they are unknown and everything the protocol can carry is sent. */
  inputModalities?: Modality[];
  /** Form of prompt-cache breakpoints in chat completions; if absent, they are not sent. */
  cacheMarks?: 'prompt_cache_breakpoint' | 'cache_control';
  /** Reasoning text of earlier assistant turns: `required` on each, `forbidden`, or `accepted`. */
  reasoningHistory?: 'required' | 'forbidden' | 'accepted';
}
