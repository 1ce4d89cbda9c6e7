/** Checked name resolution: one lookup, and every returned address must be allowed. */

import { lookup as lookupInSystem, Resolver } from 'node:dns/promises';
import { untilAborted } from '../core/cancellation.ts';
import { type AddressPolicy, canonicalName } from './address-policy.ts';
import { literalAddress } from './check-url.ts';
import { FetchFailure, isLocalFailure, toFetchFailure } from './fetch-failure.ts';
import { parseAddress } from './public-addresses.ts';
import { createSemaphore } from './semaphore.ts';

/** Addresses of a name in both families; empty if the name doesn't exist. */
export type Lookup = (name: string, signal: AbortSignal) => Promise<string[]>;

/** Addresses tried per family. */
const MAX_ADDRESSES_PER_FAMILY = 4;

const NOT_FOUND_CODES = new Set(['ENODATA', 'ENOTFOUND']);

/** Concurrent lookups of all clients that share a resolver. */
const MAX_CONCURRENT_LOOKUPS = 32;

/**
 * Queries name servers (`ip:port`; by default those of the system) without the shared thread pool, the hosts file and search
 * domains.
 */
export function createResolverLookup(servers: readonly string[]): Lookup {
  const semaphore = createSemaphore(MAX_CONCURRENT_LOOKUPS);
  return (name, signal) => semaphore(() => queryServers(name, servers, signal), signal);
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

/** Lookup by the operating system, including the hosts file; for names that the operator allowed, such as `localhost`. */
export const systemLookup: Lookup = async (name) =>
  (await lookupInSystem(name, { all: true })).map(({ address }) => address);

/**
 * Lookup for a policy: name servers, and for names that the operator allowed also the system with its hosts file. Configured
 * name servers take precedence over the system.
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

/** Names that must not be sent to a name server (RFC 6761). */
function isLocalhost(name: string): boolean {
  return `.${canonicalName(name)}`.endsWith('.localhost');
}

/** Returns at least one address. Throws `FetchFailure` with `dns`, or with `blocked` if any address is not allowed. */
export async function resolveChecked(
  url: URL,
  policy: AddressPolicy,
  lookup: Lookup,
  signal: AbortSignal,
): Promise<string[]> {
  signal.throwIfAborted();
  const name = canonicalName(url.hostname);
  const isLiteral = literalAddress(url) !== undefined;
  const answered = isLiteral ? [name.replace(/^\[|\]$/g, '')] : await answerOf(lookup(name, signal), signal);
  if (answered.length === 0) throw new FetchFailure('dns');
  for (const text of answered) {
    const address = parseAddress(text);
    if (!address || !(policy.allowsHost(name) || policy.allowsAddress(address))) throw new FetchFailure('blocked');
  }
  const isIpv6 = (text: string) => text.includes(':');
  const ipv4 = answered.filter((text) => !isIpv6(text)).slice(0, MAX_ADDRESSES_PER_FAMILY);
  return [...ipv4, ...answered.filter(isIpv6).slice(0, MAX_ADDRESSES_PER_FAMILY)];
}

/** Not every lookup can be cancelled. */
async function answerOf(lookup: Promise<string[]>, signal: AbortSignal): Promise<string[]> {
  try {
    return await untilAborted(lookup, signal);
  } catch (cause) {
    throw isLocalFailure(cause) ? toFetchFailure(cause) : new FetchFailure('dns', undefined, cause);
  }
}
