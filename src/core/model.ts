/** What the catalog knows of a model: facts it publishes, and rules that requests to the model must obey. */

import type { Effort } from './chat.ts';
import type { VideoAbilities } from './video.ts';

export type Modality = 'text' | 'image' | 'file' | 'audio' | 'video' | 'embeddings';

/** USD as decimal strings: per token, but `web_search` and `request` per piece. Keys as in the public catalog. */
export type Pricing = Record<string, string>;

/** Prices that replace the model's own, key by key, for a whole request whose prompt has at least `minPromptTokens`. */
export interface PriceTier {
  minPromptTokens: number;
  pricing: Pricing;
}

export interface CatalogModel {
  /** `<provider>/<model_id>`. */
  id: string;
  provider: string;
  /** The id the upstream knows. */
  upstreamId: string;
  canonicalSlug: string;
  name: string;
  description: string;
  /** Unix seconds; 0 where nobody says it. */
  created: number;
  ownedBy: string;
  version: string;
  contextLength: number;
  maxOutput: number;
  inputModalities: Modality[];
  outputModalities: Modality[];
  tokenizer: string;
  instructType: string | null;
  pricing: Pricing;
  /** Long-context prices by rising threshold; absent when the price never depends on the prompt's length. */
  priceTiers?: PriceTier[];
  isModerated: boolean;
  supportedParameters: string[];
  expirationDate: string | null;
  rules: ModelRules;
  /** What it accepts as a maker of videos; absent for all other models. */
  video?: VideoAbilities;
}

/**
 * How a model wants to be asked. Every field is optional and its absence is the newest model's rule, so that an id the
 * catalog doesn't know gets the newest rules of its provider.
 */
export interface ModelRules {
  /** The name of the output limit on chat completions. */
  tokenField?: 'max_tokens' | 'max_completion_tokens';
  /** Largest output in tokens; what `max_tokens` becomes where the target requires it and the client gave none. */
  maxOutput?: number;
  /** When `temperature`, `top_p` and `top_k` are accepted. */
  sampling?: 'always' | 'never' | 'without-reasoning';
  /** Both `temperature` and `top_p` in one request are accepted. */
  bothSampling?: boolean;
  penalties?: boolean;
  logprobs?: boolean;
  logitBias?: boolean;
  stop?: boolean;
  /** `required`, `any` and named tool choices are accepted. */
  forcedChoice?: boolean;
  /** A last assistant turn is continued. */
  prefill?: boolean;
  /** System turns are accepted after the first user turn. */
  midSystem?: boolean;
  /** The role of system turns on chat completions. */
  systemRole?: 'system' | 'developer';
  /** How reasoning is asked for. `always` cannot be configured; `none` cannot reason. */
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
  /** Media may stand inside tool results. */
  /** An embedding model takes ids of OpenAI's tokenizer in place of text. */
  embeddingTokens?: boolean;
  /** How the server of an embedding model writes vectors; absent means that it obeys `encoding_format`. */
  embeddingFormat?: 'float';
  resultMedia?: boolean;
  /** What the model reads; absent means it is not known and everything its protocol can carry is sent. */
  inputModalities?: Modality[];
  /** How prompt-cache breakpoints are spelled on chat completions; absent means that they are not sent there. */
  cacheMarks?: 'prompt_cache_breakpoint' | 'cache_control';
  /** Reasoning text of earlier assistant turns: `required` on each, `forbidden`, or `accepted`. */
  reasoningHistory?: 'required' | 'forbidden' | 'accepted';
}
