/** What an upstream is: an address, a credential header and the dialect of its wire, as data. */

import type { Json } from './json.ts';
import type { CatalogModel, ModelRules } from './model.ts';

export interface Provider {
  readonly id: string;
  /** The id of the protocol it speaks. */
  readonly protocol: string;
  readonly baseUrl: string;
  /** Usual names of the environment variable with its key, first wins; none for servers that need no key. */
  readonly environment: readonly string[];
  headers(key: string | undefined): Record<string, string>;
  /** The model family whose opaque state is interchangeable; by default the provider alone. */
  family?(model: string): string;
  /** Rules that hold for every model of this provider unless the model says otherwise. */
  readonly rules?: ModelRules;
  /** Adjusts a parsed wire body to a dialect in place and names the fields it had to leave out; absent means none is needed. */
  adapt?(body: Json, rules: ModelRules): string[];
  /** It answers the protocol's own token counting. */
  readonly countsTokens?: boolean;
  /** Models that don't come from the catalog. */
  readonly models?: readonly CatalogModel[];
  /** An upstream inside this process instead of behind `baseUrl`. */
  readonly local?: LocalUpstream;
}

export interface LocalRequest {
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
