/** A provider's own list of models: the request for it, and a test of the provider by it. */

import type { KnownEntries } from '../catalog/bundled.ts';
import { discoveredModels } from '../catalog/discovered.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { readAtOnce } from '../core/json/response.ts';
import type { ProviderType } from '../core/provider.ts';
import type { ActiveProvider } from '../routing/model-directory.ts';
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

type AskedProvider = Pick<ActiveProvider, 'provider' | 'credentials' | 'headers'>;

export interface AskContext {
  upstream: UpstreamClient;
  userAgent: string;
  clock?: Clock;
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
  return new Promise<unknown>((resolve, reject) => {
    const exchange = context.upstream.send(
      { ...request, total: timeoutMs },
      collectResponse({
        accepts: (size) => size <= maxBytes,
        onResponse({ status, body }) {
          try {
            resolve(status === 404 && list.optional ? {} : parseModelList(status, body));
          } catch (error) {
            reject(error);
          }
        },
        onTooLarge() {
          exchange.abort();
          reject(new GatewayError('upstream_error', 'Its list of models has no end.'));
        },
        onFailure: (cause, sent) => reject(sent ? cause : new GatewayError('unavailable', cause.message, { cause })),
      }),
    );
  });
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

function parseModelList(status: number, bytes: Buffer): unknown {
  if (status === 200) return readAtOnce(bytes);
  throw new GatewayError('upstream_error', `It answered with status ${status} when asked for its models.`);
}
