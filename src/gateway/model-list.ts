/** A provider's own list of models: the request for it, and a test of the provider by it. */

import { customModel, type KnownEntries } from '../catalog/bundled.ts';
import { discoveredModels } from '../catalog/discovered.ts';
import { discoveredVideoModels } from '../catalog/discovered-videos.ts';
import type { CatalogEntry } from '../catalog/entry.ts';
import type { ReadyProvider } from '../config/resolved.ts';
import type { Cancellation } from '../core/cancellation.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { readAtOnce } from '../core/json/response.ts';
import type { CatalogModel } from '../core/model.ts';
import { withToolPrices } from '../core/prices.ts';
import type { ProviderType } from '../core/provider.ts';
import { withoutEnd } from '../core/text.ts';
import type { ActiveProvider, ConfiguredModels } from '../routing/model-directory.ts';
import { collectResponse } from '../transport/collect-response.ts';
import type { UpstreamClient, UpstreamRequest } from '../transport/upstream-client.ts';

export interface AskedList {
  /** Path below the base URL. */
  path: string;
  /** If true, a 404 means that the server has no such models. */
  optional: boolean;
  /** Shorter than by default. */
  timeoutMs?: number;
  /** Fewer than by default. */
  maxBytes?: number;
}

/** A list of models that a provider is asked for. */
interface ModelList extends AskedList {
  read(provider: string, body: unknown, vendor?: string, known?: KnownEntries): CatalogModel[];
}

export function modelListsOf({ config, type }: { config: ReadyProvider; type: ProviderType }): ModelList[] {
  if (Array.isArray(config.models)) return [];
  const asked = config.models === 'discover' || (type.catalog === undefined && type.modelsPath !== undefined);
  const videos = type.videoModelsPath;
  return [
    ...(asked ? [{ path: type.modelsPath ?? '/models', optional: false, read: discoveredModels }] : []),
    ...(videos === undefined ? [] : [{ path: videos, optional: true, read: discoveredVideoModels }]),
  ];
}

/** Models of a list by their ids at the upstream and by their own, without the provider; the first one counts. */
const modelsByList = new WeakMap<readonly CatalogModel[], Map<string, CatalogModel>>();

function indexOf(models: readonly CatalogModel[], provider: string): ReadonlyMap<string, CatalogModel> {
  const known = modelsByList.get(models);
  if (known) return known;
  const index = new Map<string, CatalogModel>();
  for (const model of models.toReversed()) {
    index.set(model.id.slice(provider.length + 1), model).set(model.upstreamId, model);
  }
  modelsByList.set(models, index);
  return index;
}

/** Both lists as one; a model of the second one replaces that of the first with its id. */
export function merge(models: readonly CatalogModel[], more: readonly CatalogModel[]): CatalogModel[] {
  return [...new Map([...models, ...more].map((model) => [model.id, model])).values()];
}

export function configuredModels(of: Omit<ListedProvider, 'models'>): CatalogModel[] {
  const { models } = of.config;
  return Array.isArray(models) ? models.map((entry) => configuredModel(of, entry)) : [];
}

/** A configured model. A deployment without a base has no facts of a vendor, even where its provider is named after one. */
function configuredModel(
  { config: { id: provider }, type, known }: Omit<ListedProvider, 'models'>,
  entry: CatalogEntry,
): CatalogModel {
  if (type.namesDeployments && entry.base === undefined)
    return customModel(provider, { ownedBy: provider, ...entry }, type.id, known);
  return customModel(provider, entry, type.catalog, known);
}

interface ListedProvider {
  config: Pick<ReadyProvider, 'id' | 'models'>;
  type: ProviderType;
  models: CatalogModel[];
  known: KnownEntries | undefined;
}

/** A configured model that is not in the list counts as existing. */
export function listedModel(listed: ListedProvider, upstreamId: string): CatalogModel {
  const { config, models } = listed;
  return indexOf(models, config.id).get(upstreamId) ?? configuredModel(listed, { id: upstreamId });
}

/** A model that no provider lists, unless it is listed under another id. */
export function unlistedModel(listed: ListedProvider, upstreamId: string): CatalogModel {
  const { config, models } = listed;
  const known = indexOf(models, config.id).get(upstreamId);
  return known ?? { ...configuredModel(listed, { id: upstreamId }), unlisted: true };
}

/** Configured models with endpoints; their catalog entry is that of the first endpoint's model. */
export function routedModels(
  { models }: ConfiguredModels,
  listed: ReadonlyMap<string, Pick<ActiveProvider, 'modelOf'>>,
): { provider: string; models: CatalogModel[] }[] {
  return [...models].flatMap(([id, endpoints]) => {
    const first = endpoints.find(({ provider }) => listed.has(provider));
    const model = first && listed.get(first.provider)?.modelOf(first.model);
    const provider = id.slice(0, id.indexOf('/'));
    if (!model) return [];
    const pricing = first.pricing ? withToolPrices(first.pricing, model.pricing) : model.pricing;
    return [{ provider, models: [{ ...model, id, pricing }] }];
  });
}

type AskedProvider = Pick<ActiveProvider, 'provider' | 'credentials' | 'headers'>;

export interface AskContext {
  upstream: UpstreamClient;
  userAgent: string;
  clock?: Clock;
  /** Ends the call. */
  closing?: Cancellation;
}

/** Answer of a provider that was asked for its models. */
export interface ProviderTest {
  ok: boolean;
  /** Number of models in its list. */
  models?: number;
  ms: number;
  /** Reason of the failure, in words that are not the upstream's. */
  problem?: string;
}

/** Timeout of a model list: calls for unknown models wait for it. */
const LIST_TIMEOUT_MS = 10 * 1000;
/** Ten times the longest known list. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

export async function testProvider(
  entry: AskedProvider & { type: ProviderType; known: KnownEntries | undefined },
  context: AskContext,
): Promise<ProviderTest> {
  const { clock = systemClock } = context;
  const began = clock.monotonic();
  const elapsed = () => Math.round(clock.monotonic() - began);
  try {
    const body = await fetchModelList(entry, { path: entry.type.modelsPath ?? '/models', optional: false }, context);
    const models = discoveredModels(entry.provider.id, body, entry.type.catalog, entry.known).length;
    return { ok: true, ms: elapsed(), models };
  } catch (error) {
    const problem = error instanceof GatewayError ? error.message : 'Its list of models could not be read.';
    return { ok: false, ms: elapsed(), problem };
  }
}

/** Rejects with `unavailable` if no connection is made. */
export async function fetchModelList(provider: AskedProvider, list: AskedList, context: AskContext): Promise<unknown> {
  const request = await listRequest(provider, list.path, context);
  const { timeoutMs = LIST_TIMEOUT_MS, maxBytes = MAX_LIST_BYTES } = list;
  const { closing } = context;
  if (closing?.isCancelled) throw stopping();
  let forget: (() => void) | undefined;
  const asked = new Promise<unknown>((resolve, reject) => {
    const exchange = context.upstream.send(
      { ...request, total: timeoutMs },
      collectResponse({
        accepts: (size) => size <= maxBytes,
        onResponse({ status, body }) {
          try {
            resolve(
              status === 404 && list.optional ? {} : parseModelList(missingEnd(request.url, list.path), status, body),
            );
          } catch (error) {
            reject(error);
          }
        },
        onTooLarge() {
          exchange.abort();
          reject(new GatewayError('upstream_error', 'Its list of models has no end.'));
        },
        onFailure: (cause, sent) => reject(sent ? cause : new GatewayError('unavailable', reasonOf(cause), { cause })),
      }),
    );
    forget = closing?.onCancel(() => {
      exchange.abort();
      reject(stopping());
    });
  });
  return asked.finally(forget);
}

/** The message with the code of the connection's failure, such as ECONNREFUSED, which has no address in it. */
function reasonOf({ message, cause }: GatewayError): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return code ? `${withoutEnd(message, '.')}: ${code}.` : message;
}

function stopping(): GatewayError {
  return new GatewayError('unavailable', 'The gateway is stopping.');
}

async function listRequest(
  { provider, credentials, headers }: AskedProvider,
  path: string,
  { userAgent, clock = systemClock }: AskContext,
): Promise<UpstreamRequest> {
  const { platform } = provider;
  const request = {
    method: 'GET',
    url: platform.url({ type: 'models', path }),
    headers: { accept: 'application/json', 'user-agent': userAgent, ...headers },
  } as const;
  return platform.authorize(request, credentials.pick('models').value, clock.now());
}

function parseModelList(missing: string | undefined, status: number, bytes: Buffer): unknown {
  if (status === 200) return readAtOnce(bytes);
  const advice = status === 404 && missing ? ` Its base_url may lack its end, such as ${missing}.` : '';
  throw new GatewayError('upstream_error', `It answered with status ${status} when asked for its models.${advice}`);
}

/** The end that the base URL of a list seems to lack. A path with a version, as of Anthropic, is below a base URL without one. */
function missingEnd(url: string, path: string): string | undefined {
  if (!url.endsWith(path)) return undefined;
  const base = url.slice(0, -path.length);
  if (path === '/models') return /[^/]\/v\d/.test(base) ? undefined : '/v1';
  return path === '/v1/models' && new URL(base).pathname === '/' ? '/anthropic' : undefined;
}
