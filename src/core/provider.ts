/** Provider: platform and protocol dialects of an upstream, as data. */

import type { Clock } from './clock.ts';
import type { CredentialValue, IdentityVendor } from './credential.ts';
import type { EmbeddingForm } from './embedding.ts';
import type { Fields } from './fields.ts';
import type { Json } from './json/json.ts';
import type { CatalogModel, ModelRules } from './model.ts';
import type { Platform } from './platform.ts';
import type { VideoApi } from './video.ts';

export interface Provider {
  readonly id: string;
  /** Dialects of a model in order of preference; empty for video-only providers. */
  speaks(model: CatalogModel): readonly Dialect[];
  /** Platform of the provider. */
  readonly platform: Platform;
  /** Usual names of the environment variable with its key, first wins; none for servers that need no key. */
  readonly environment: readonly string[];
  /** The model family whose opaque state is interchangeable; by default the provider alone. `base` as in `CatalogModel`. */
  family?(model: string, base?: string): string;
  /** The cost reported in responses is the cost billed. */
  readonly billsReportedCost?: boolean;
  /** Video adapter, if any. */
  readonly video?: VideoApi;
  /** Models that are not in the catalog. */
  readonly models?: readonly CatalogModel[];
  /** Upstream inside this process, instead of a URL. */
  readonly local?: LocalUpstream;
}

/** Dialect: one protocol as spoken by a provider. */
export interface Dialect {
  /** The id of the protocol. */
  readonly protocol: string;
  /** Default rules for all models of the provider. */
  readonly rules?: ModelRules;
  /**
   * Adjusts a parsed wire body to the dialect, in place; idempotent. Absent for the standard protocol.
   * `rules` are the rules of the model over those of the provider; `headers` those of a client of this protocol.
   */
  adapt?(body: Json, rules: ModelRules, headers?: Fields): Adaptation;
  /** Adjusts a body that the gateway wrote, in place; a client's body of this protocol is not touched. */
  adaptTranslated?(body: Json, rules: ModelRules): Adaptation;
  /** Embeddings, if they are in another form than that of the protocol. */
  readonly embeddings?: EmbeddingForm;
  /** A header of the client that its protocol passes on, as the provider takes it; absent where it takes all of them. */
  forwardHeader?(name: string, value: string): ForwardedHeader;
  /** The provider keeps responses that requests may name, in the account of the credential. */
  readonly keepsResponses?: boolean;
  /** The provider fetches no URLs in this protocol; media must be sent inline. */
  readonly inlinesMedia?: boolean;
  /** The provider supports the token count of the protocol. */
  readonly countsTokens?: boolean;
  /** Adjusts the body of a token count, in place; returns whether it changed. Absent if it is that of the protocol. */
  adaptCount?(body: Json, model: string): boolean;
}

export interface ForwardedHeader {
  /** Undefined if nothing of it is sent. */
  value: string | undefined;
  /** Its parts that are not sent, by their names for clients. */
  dropped: readonly string[];
}

/** Result of `adapt`. */
export interface Adaptation {
  /** False if the body is unchanged, so that the original bytes can be sent. */
  changed: boolean;
  /** Dropped tuning fields, which the model or provider does not accept, with their wire names. */
  dropped: string[];
}

/** Provider type: its metadata and factory. */
export interface ProviderType {
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Ids of its protocols; empty for video-only providers. */
  readonly protocols: readonly string[];
  /** Usual names of the environment variable with its key, first wins. */
  readonly environment: readonly string[];
  /** Usable without a key. */
  readonly keyless: boolean;
  /** The configuration says which of `protocols` a server speaks; by default the first one. */
  readonly choosesProtocols?: boolean;
  /** Its models are deployments with names of the operator's own; `base` says which model each of them is. */
  readonly namesDeployments?: boolean;
  /** Its API has dated versions, one of which the configuration may name. */
  readonly hasApiVersions?: boolean;
  /** Runs inside the gateway: enabled by default, without a base URL. */
  readonly builtIn?: boolean;
  /** Default base URL; absent if each installation has its own. */
  readonly baseUrl?: string;
  /** Vendor in the bundled catalog whose models it serves; absent if the models are listed by the server. */
  readonly catalog?: string;
  /** Path of the model list below the base URL, if any. */
  readonly modelsPath?: string;
  /** Path of the video model list, as on OpenRouter, if any. */
  readonly videoModelsPath?: string;
  /** Vendor whose identities authenticate in place of a key (`credentials`), if any. */
  readonly identity?: IdentityVendor;
  /** Forms of a configured key, if it is not always sent unchanged. */
  readKey?(text: string): CredentialValue;
  /** Throws `invalid_request` for a missing or malformed base URL. */
  create(settings: ProviderSettings): Provider;
}

export interface ProviderSettings {
  /** `<provider>` in the ids of its models. */
  id: string;
  /** Base URL as in the vendor's own SDK: with `/v1` for chat completions, without a version for messages and generate. */
  baseUrl?: string;
  /** Ids of the protocols that the server speaks, in order of preference; for a type that leaves them to the configuration. */
  protocols?: readonly string[];
  /** Dated version of its API; absent means the current API, which has none. */
  apiVersion?: string;
  /** Whether it keeps responses, as in `Dialect`; absent where the configuration does not say so. */
  keepsResponses?: boolean;
  /** Clock of a provider that runs inside the gateway; that of this machine if absent. */
  clock?: Clock;
}

export interface LocalRequest {
  method: string;
  path: string;
  body: Buffer;
  signal: AbortSignal;
}

export interface LocalResponse {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Buffer>;
}

/** In-process upstream: returns the bytes of its protocol like any other upstream; may hang, fail or break off. */
export type LocalUpstream = (request: LocalRequest) => Promise<LocalResponse>;
