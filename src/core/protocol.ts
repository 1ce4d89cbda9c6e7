/** Protocols: a wire format towards clients and towards upstreams, with the operations that it offers. */

import type { GatewayError } from './errors.ts';
import type { Json } from './json/json.ts';
import type { CatalogModel } from './model.ts';
import type { ClientRoute, Headers, Operations, Prefixes } from './operation.ts';

/** What a client wants of the catalog. */
export type CatalogQuery =
  | { type: 'list-models'; provider?: string; page: PageQuery }
  | { type: 'count-models' }
  | { type: 'get-model'; id: string /** Inside an object, as the member `data`. */; enveloped?: boolean };

export interface PageQuery {
  limit?: number;
  after?: string;
  before?: string;
  /** How many models to leave out, in place of a cursor. */
  offset?: number;
}

/** The page of a model list, as the list tells of itself. */
export interface CatalogPage {
  more: boolean;
  /** Of all pages. */
  total: number;
  provider?: string;
  limit?: number;
}

export interface WireError {
  status: number;
  body: Json;
}

export interface Protocol {
  /** Also the surface that keys can be scoped to. */
  readonly id: string;
  /** The name in `api_type` of a usage record as OpenRouter shows it. */
  readonly apiType: string;
  readonly operations: Operations;

  // Facing clients.
  catalogRoutes(prefixes: Prefixes): ClientRoute<CatalogQuery>[];
  /** Every API key that a request presents; more than one value is an ambiguity. */
  credentials(headers: Headers, query: URLSearchParams): string[];
  /** Throws `invalid_request` when the headers lack what the protocol demands, e.g. a version. */
  checkHeaders?(headers: Headers): void;
  encodeError(error: GatewayError, requestId: string): WireError;
  readonly requestIdHeader: string;
  /** The client's own spelling of a hub parameter, for errors and the dropped header. */
  parameterName(parameter: string): string;
  encodeModel(model: CatalogModel): Json;
  encodeModels(models: Json[], page: CatalogPage): Json;
  /** Where clients of the protocol ask for the number alone. */
  encodeModelCount?(total: number): Json;

  // Facing upstreams.
  /** Request headers of clients that same-protocol upstreams get to see, each with its name there. */
  readonly forwardedHeaders: Readonly<Record<string, string>>;
  decodeError(status: number, body: unknown): GatewayError;
  /** The error in a 200 body or in a frame's data, if it is one. */
  errorIn(body: Json): GatewayError | undefined;
}
