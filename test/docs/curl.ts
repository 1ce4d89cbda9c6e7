/** A `curl` line as the request that it sends, so that trying one out needs no `curl`. */

import assert from 'node:assert/strict';

export interface CurlRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string | FormData;
  /** File for the response: `curl` refuses to write a video to a terminal. */
  output?: string;
}

/** Reads the quotes of a POSIX shell and the flags that our examples use; `key` stands for `$POLYGATE_KEY`, `file` for every file. */
export function parseCurl(line: string, key = '', file = new Blob([])): CurlRequest {
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
    else if (flags[index] === '-X') request.method = value;
    else if (flags[index] === '-F') addField(request, value, file);
    else if (flags[index] === '--output') Object.assign(request, { output: value });
    else assert.fail(`unknown flag ${flags[index]}`);
  }
  return request;
}

/** `name=text`, or `name=@file`. */
function addField(request: CurlRequest, field: string, file: Blob): void {
  const form = request.body instanceof FormData ? request.body : new FormData();
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(field) ?? [];
  if (value.startsWith('@')) form.append(name, file, value.slice(1));
  else form.append(name, value);
  Object.assign(request, { method: 'POST', body: form });
}
