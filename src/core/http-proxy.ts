/** HTTP proxy through which connections to providers leave a network, and the hosts that are connected without it. */

import { isLoopback } from './loopback.ts';

/** Metadata servers of cloud platforms are there, and no proxy reaches them. */
const LINK_LOCAL = '169.254.';

export interface HttpProxy {
  /** Its own URL, with user name and password where it asks for them. */
  readonly url: { reveal(): string };
  /** Hosts that are connected without it. */
  readonly direct: readonly string[];
  /** Whether connections to a host go through it; `hostname` without brackets. */
  serves(hostname: string, port: number): boolean;
}

/** `direct` as in `NO_PROXY`: names, which stand for those below them too, and addresses, with or without a port; `*` is all. */
export function createHttpProxy(url: HttpProxy['url'], direct: readonly string[]): HttpProxy {
  const rules = direct.map(parseRule);
  return {
    url,
    direct,
    serves(hostname, port) {
      const name = hostname.toLowerCase();
      return !isLoopback(name) && !name.startsWith(LINK_LOCAL) && !rules.some((rule) => rule(name, port));
    },
  };
}

type Rule = (name: string, port: number) => boolean;

/** A host and its port; an IPv6 address has brackets where a port follows. */
const RULE = /^(?:\[([^\]]+)\]|([^:]*|[^:]*:[^:]*:.*?))(?::(\d+))?$/;

function parseRule(text: string): Rule {
  const [, bracketed, bare = '', port] = RULE.exec(text.toLowerCase()) ?? [];
  const host = bracketed ?? bare.replace(/^\*?\./, '');
  return (name, its) => {
    if (host === '' || (port !== undefined && Number(port) !== its)) return false;
    return host === '*' || name === host || name.endsWith(`.${host}`);
  };
}
