/** From a URL to the addresses its connection may use: one look-up, and every address it gives is checked. */

import { lookup as lookupInSystem, Resolver } from 'node:dns/promises';
import { type AddressPolicy, canonicalName } from './address-policy.ts';
import { literalAddress } from './check-url.ts';
import { FetchFailure, isLocalFailure, toFetchFailure } from './fetch-failure.ts';
import { parseAddress } from './public-addresses.ts';
import { createSemaphore } from './semaphore.ts';

/** All addresses of a name in both families; none when the name doesn't exist. */
export type Lookup = (name: string, signal: AbortSignal) => Promise<string[]>;

/** No name needs more; each is tried when the one before doesn't answer. */
const MAX_ADDRESSES_PER_FAMILY = 4;

const NOT_FOUND_CODES = new Set(['ENODATA', 'ENOTFOUND']);

/** Look-ups at once, all clients together. */
const dnsSemaphore = createSemaphore(32);

/**
 * Asks name servers (`ip:port`, the system's if there are none) without the thread pool that files and other look-ups
 * share, without hosts file and search domains.
 */
export function createResolverLookup(servers: readonly string[]): Lookup {
  return (name, signal) => dnsSemaphore(() => queryServers(name, servers, signal), signal);
}

async function queryServers(name: string, servers: readonly string[], signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver({ timeout: 1500, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => {
      if (answer.status === 'fulfilled') return answer.value;
      if (NOT_FOUND_CODES.has(answer.reason.code)) return [];
      throw answer.reason;
    });
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** The operating system's answer, hosts file included: for names that the operator allowed, such as `localhost`. */
export const systemLookup: Lookup = async (name) =>
  (await lookupInSystem(name, { all: true })).map(({ address }) => address);

/**
 * What a client with this policy asks: name servers, and for names that the operator allowed the system too, whose hosts
 * file may know them. Where the configuration has name servers, the system comes after them.
 */
export function createLookup(policy: AddressPolicy, servers: readonly string[] = []): Lookup {
  const ask = createResolverLookup(servers);
  return async (name, signal) => {
    if (!policy.allowsHost(name)) return ask(name, signal);
    if (servers.length === 0 || isLocalhost(name)) return systemLookup(name, signal);
    const found = await ask(name, signal);
    return found.length > 0 ? found : systemLookup(name, signal);
  };
}

/** Names that no name server may be asked for (RFC 6761). */
function isLocalhost(name: string): boolean {
  return `.${canonicalName(name)}`.endsWith('.localhost');
}

/** At least one address. Throws `FetchFailure` with `dns` or `blocked`: one bad address spoils the name. */
export async function resolveChecked(
  url: URL,
  policy: AddressPolicy,
  lookup: Lookup,
  signal: AbortSignal,
): Promise<string[]> {
  signal.throwIfAborted();
  const name = canonicalName(url.hostname);
  const isLiteral = literalAddress(url) !== undefined;
  const answered = isLiteral ? [name.replace(/^\[|\]$/g, '')] : await withAbort(lookup(name, signal), signal);
  if (answered.length === 0) throw new FetchFailure('dns');
  for (const text of answered) {
    const address = parseAddress(text);
    if (!address || !(policy.allowsHost(name) || policy.allowsAddress(address))) throw new FetchFailure('blocked');
  }
  const isIpv6 = (text: string) => text.includes(':');
  const ipv4 = answered.filter((text) => !isIpv6(text)).slice(0, MAX_ADDRESSES_PER_FAMILY);
  return [...ipv4, ...answered.filter(isIpv6).slice(0, MAX_ADDRESSES_PER_FAMILY)];
}

/** Not every look-up can be cancelled, but the caller's time is bounded all the same. */
async function withAbort(answer: Promise<string[]>, signal: AbortSignal): Promise<string[]> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([answer, aborted]);
  } catch (cause) {
    throw isLocalFailure(cause) ? toFetchFailure(cause) : new FetchFailure('dns', undefined, cause);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
