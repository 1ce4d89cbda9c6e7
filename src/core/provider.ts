/** What an upstream is: a platform that says how it is reached, and the dialect of its wire, as data. */

import type { CredentialValue } from './credential.ts';
import type { Json } from './json/json.ts';
import type { CatalogModel, ModelRules } from './model.ts';
import type { Platform } from './platform.ts';
import type { VideoApi } from './video.ts';

export interface Provider {
  readonly id: string;
  /** How a model is spoken to, in the order of preference; nothing where only videos are made. */
  speaks(model: CatalogModel): readonly Dialect[];
  /** How it is reached. */
  readonly platform: Platform;
  /** Usual names of the environment variable with its key, first wins; none for servers that need no key. */
  readonly environment: readonly string[];
  /** The model family whose opaque state is interchangeable; by default the provider alone. */
  family?(model: string): string;
  /** It fetches no URLs, so that media must be sent inline. */
  readonly inlinesMedia?: boolean;
  /** It bills by the cost that its answers report, which then is what an answer costs. */
  readonly billsReportedCost?: boolean;
  /** How it makes videos; absent where it makes none. */
  readonly video?: VideoApi;
  /** Models that don't come from the catalog. */
  readonly models?: readonly CatalogModel[];
  /** An upstream inside this process instead of behind a URL. */
  readonly local?: LocalUpstream;
}

/** One protocol as a provider speaks it. */
export interface Dialect {
  /** The id of the protocol. */
  readonly protocol: string;
  /** Rules that hold for every model of the provider unless the model says otherwise. */
  readonly rules?: ModelRules;
  /**
   * Adjusts a parsed wire body to the dialect, in place; absent where the protocol is spoken as it is. Twice is like once.
   * `rules` are the provider's with the model's above them.
   */
  adapt?(body: Json, rules: ModelRules): Adaptation;
  /** It answers the protocol's own token counting. */
  readonly countsTokens?: boolean;
}

/** What `adapt` did to a body. */
export interface Adaptation {
  /** False when the body was fine as it came, so that its bytes may be sent. */
  changed: boolean;
  /** Fields that only tune and that the model or provider doesn't take, in the protocol's own spelling. */
  dropped: string[];
}

/** A kind of provider that can be configured: data about it, and how to make one. */
export interface ProviderType {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** The ids of the protocols that it speaks; none where only videos are made. */
  readonly protocols: readonly string[];
  /** Usual names of the environment variable with its key, first wins. */
  readonly environment: readonly string[];
  /** It can be used without a key. */
  readonly keyless: boolean;
  /** It lives inside the gateway: on unless it is switched off, without an address. */
  readonly builtIn?: boolean;
  /** Its own address; absent where every installation has another. */
  readonly baseUrl?: string;
  /** The vendor in the bundled catalog whose models it serves; absent where they are asked of the server. */
  readonly catalog?: string;
  /** Where the server lists its models, below the base URL; absent where it doesn't. */
  readonly modelsPath?: string;
  /** Where the server lists the models that make videos, as OpenRouter does; absent where it doesn't. */
  readonly videoModelsPath?: string;
  /** What a configured key is, where it is not always a key that is sent as it stands. */
  readKey?(text: string): CredentialValue;
  /** Throws `invalid_request` for a missing or malformed base URL. */
  create(settings: ProviderSettings): Provider;
}

export interface ProviderSettings {
  /** The `<provider>` of its models' ids. */
  id: string;
  /** As in the vendor's own SDK: with `/v1` for chat completions, without a version for messages and generate content. */
  baseUrl?: string;
}

export interface LocalRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  signal: AbortSignal;
}

export interface LocalAnswer {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Buffer>;
}

/** Speaks the bytes of its protocol like any other upstream; may hang, fail and break off. */
export type LocalUpstream = (request: LocalRequest) => Promise<LocalAnswer>;
