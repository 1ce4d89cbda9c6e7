/** Hosts that are connected without the HTTP proxy, by the rules of `NO_PROXY`. */

import type { HttpProxy } from '../core/http-proxy.ts';
import { isLoopback } from '../core/loopback.ts';
import { contains, isRange, parseAddress, parseRange, type Range } from './ip-address.ts';

/** Metadata servers of cloud platforms are there, and a proxy would ask for those of its own machine. */
const LINK_LOCAL: readonly Range[] = ['169.254.0.0/16', 'fe80::/10', '::ffff:169.254.0.0/112'].map(parseRange);
const METADATA_NAME = 'metadata.google.internal';

/** `direct`: names, which stand for those below them too, addresses, each with a port or without, and ranges; `*` is all. */
export function createHttpProxy(url: HttpProxy['url'], direct: readonly string[]): HttpProxy {
  const rules = direct.map(parseRule);
  return {
    url,
    direct,
    serves(hostname, port) {
      const name = hostname.toLowerCase();
      const isNear = isLoopback(name) || name === METADATA_NAME || LINK_LOCAL.some((range) => hasHost(range, name));
      return !isNear && !rules.some((rule) => rule(name, port));
    },
  };
}

type Rule = (name: string, port: number) => boolean;

/** A host and its port; an IPv6 address has brackets where a port follows. */
const RULE = /^(?:\[([^\]]+)\](?::(\d+))?|([^:]*)(?::(\d+))?|(.*))$/;

function parseRule(text: string): Rule {
  const [, bracketed, portBehind, name, portOfName, address] = RULE.exec(text.toLowerCase()) ?? [];
  const host = (bracketed ?? name ?? address ?? '').replace(/^\*?\./, '');
  const port = portBehind ?? portOfName;
  const range = isRange(host) ? parseRange(host) : undefined;
  return (name, its) => {
    if (host === '' || (port !== undefined && Number(port) !== its)) return false;
    if (range) return hasHost(range, name);
    return host === '*' || name === host || name.endsWith(`.${host}`);
  };
}

function hasHost(range: Range, host: string): boolean {
  const address = parseAddress(host);
  return address !== undefined && contains(range, address);
}
