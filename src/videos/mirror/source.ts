/** Asset download: opens the source of a video and follows redirects, without sending the credential to other origins. */

import { FetchFailure } from '../../net/fetch-failure.ts';
import type { GuardedClient } from '../../net/guarded-client.ts';
import type { TrustedClient, TrustedResponse } from '../../net/trusted-client.ts';
import type { AssetSource } from '../mirror.ts';

export interface DownloadClients {
  /** Client for URLs that upstreams report. */
  guarded: GuardedClient;
  /** Client for the providers' own origins, which get the credential. */
  trusted: TrustedClient;
}

export type RemoteSource = Exclude<AssetSource, { type: 'data' }>;

export interface OpenSourceOptions {
  headers: Record<string, string>;
  /** Timeout of the whole transfer. */
  timeoutMs: number;
  /** The body fails beyond this size. */
  maxBytes: number;
  signal: AbortSignal;
}

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Returns the first response that is not a redirect. Throws a `FetchFailure`, or `invalid_request` for a forbidden URL.
 */
export async function openSource(
  clients: DownloadClients,
  source: RemoteSource,
  options: OpenSourceOptions,
): Promise<TrustedResponse> {
  let { url } = source;
  if (!URL.canParse(url)) throw new FetchFailure('blocked');
  let credential = source.type === 'path' ? source.headers : undefined;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    // After a redirect to another origin the credential is not sent again, even back at the first origin.
    if (new URL(url).origin !== new URL(source.url).origin) credential = undefined;
    const response = await send(clients, url, credential, options);
    if (!REDIRECTS.has(response.status)) return response;
    response.close();
    url = redirectTarget(response, url);
  }
  throw new FetchFailure('status', `The address answered with more than ${MAX_REDIRECTS} redirects.`);
}

function send(
  { guarded, trusted }: DownloadClients,
  url: string,
  credential: Record<string, string> | undefined,
  { headers, timeoutMs, maxBytes, signal }: OpenSourceOptions,
): Promise<TrustedResponse> {
  if (!credential) return guarded.request(url, { method: 'GET', headers, deadline: timeoutMs, maxBytes, signal });
  return trusted.request(url, { method: 'GET', headers: { ...headers, ...credential }, deadline: timeoutMs, signal });
}

function redirectTarget(response: TrustedResponse, from: string): string {
  const location = String(response.headers.location ?? '');
  if (location === '' || !URL.canParse(location, from)) {
    throw new FetchFailure('status', 'The address answered with a redirect to nowhere.');
  }
  return new URL(location, from).href;
}
