/** A `curl` line as the request that it sends, so that trying one out needs no `curl`. */

import assert from 'node:assert/strict';

export interface CurlRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

/** Reads the quotes of a POSIX shell and the flags that our examples use; `key` stands for `$POLYGATE_KEY`. */
export function parseCurl(line: string, key = ''): CurlRequest {
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double?.replace('$POLYGATE_KEY', key) ?? single ?? bare ?? '',
  );
  const [command, url = '', ...flags] = words;
  assert.equal(command, 'curl');
  const request: CurlRequest = { url, method: 'GET', headers: {} };
  for (let index = 0; index < flags.length; index += 2) {
    const value = flags[index + 1] ?? '';
    const colon = value.indexOf(':');
    if (flags[index] === '-H') request.headers[value.slice(0, colon)] = value.slice(colon + 1).trim();
    else if (flags[index] === '-d') Object.assign(request, { method: 'POST', body: value });
    else assert.fail(`unknown flag ${flags[index]}`);
  }
  return request;
}
