/** Pages of the dashboard: the files of its build, compressed ahead and held in memory. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { GatewayError } from '../../core/errors.ts';
import { CODINGS, type ContentCoding, chooseCoding } from '../content-coding.ts';
import type { HttpResponse } from '../http-response.ts';

/** Folder of the built pages, in a clone and in the package alike. */
export const PAGES_FOLDER = fileURLToPath(new URL('../../../dist/ui/', import.meta.url));

export interface Pages {
  /** Whether there are pages; they may come while the gateway runs. */
  areBuilt(): Promise<boolean>;
  /** Response to a request below `/ui`. Throws `not_found` for a missing file of the build. */
  response(path: string, acceptedEncodings: string | undefined): Promise<HttpResponse>;
}

const INDEX = 'index.html';
/** Files whose names change with their content. */
const HASHED = 'assets/';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const SECURITY_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
};

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
};

type PageFile = Partial<Record<ContentCoding | 'identity', Buffer>>;
type PageFiles = ReadonlyMap<string, PageFile>;

const SUFFIXES: Record<ContentCoding, string> = { br: '.br', gzip: '.gz' };
const decompress = promisify(gunzip);

/** Beside the folder of the pages: why the last build of a clone failed, as text. */
const PROBLEM_FILE = 'ui-problem.txt';

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Polygate</title>`;
const BEING_BUILT = `${HEAD}
<meta http-equiv="refresh" content="2">
<main>
<h1>The dashboard is being built</h1>
<p>In a clone, <code>npm start</code> builds it once beside the gateway. This page opens it as soon as it is there.</p>
</main>
</html>
`;
const notBuildable = (problem: string) => `${HEAD}
<main>
<h1>The dashboard could not be built</h1>
<p>Everything else works without it. The next <code>npm start</code> tries again.</p>
<pre>${problem.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)}</pre>
</main>
</html>
`;

/** `folder` may be missing, and may be replaced by a later build. */
export function createPages(folder = PAGES_FOLDER): Pages {
  let loaded: { version: number; files: Promise<PageFiles> } | undefined;

  /** Files of the newest build; undefined without one. */
  async function current(): Promise<PageFiles | undefined> {
    const index = await stat(join(folder, `${INDEX}${SUFFIXES.gzip}`)).catch(() => undefined);
    if (!index) return undefined;
    if (loaded?.version !== index.mtimeMs) loaded = { version: index.mtimeMs, files: readFiles(folder) };
    return loaded.files;
  }

  return {
    areBuilt: async () => (await current()) !== undefined,
    async response(path, acceptedEncodings) {
      const files = await current();
      const name = path.slice('/ui/'.length);
      if (!files) return notBuilt(await readFile(join(folder, '..', PROBLEM_FILE), 'utf8').catch(() => undefined));
      const file = files.get(name);
      if (file) return fileResponse(name, file, acceptedEncodings);
      if (name.startsWith(HASHED)) throw new GatewayError('not_found', `There is nothing at GET ${path}.`);
      return fileResponse(INDEX, files.get(INDEX) ?? {}, acceptedEncodings);
    },
  };
}

/** Response while there are no pages: the error of the build, or a page that waits for the running build. */
function notBuilt(problem: string | undefined): HttpResponse {
  const headers = { ...SECURITY_HEADERS, 'content-type': TYPES.html as string, 'cache-control': 'no-store' };
  if (problem !== undefined) return { status: 503, headers, body: notBuildable(problem) };
  return { status: 503, headers: { ...headers, 'retry-after': '2' }, body: BEING_BUILT };
}

async function fileResponse(name: string, file: PageFile, accepted: string | undefined): Promise<HttpResponse> {
  const encoding = chooseCoding(
    accepted,
    CODINGS.filter((one) => file[one]),
  );
  const body = encoding ? file[encoding] : (file.identity ?? (await decompress(file.gzip ?? Buffer.alloc(0))));
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  const headers: Record<string, string> = {
    ...SECURITY_HEADERS,
    'content-type': type,
    'cache-control': name.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-store',
    vary: 'accept-encoding',
  };
  if (encoding) headers['content-encoding'] = encoding;
  return { headers, body };
}

async function readFiles(folder: string): Promise<PageFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, PageFile>();
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(join(folder, '/').length).replaceAll('\\', '/');
    const encoding = CODINGS.find((one) => name.endsWith(SUFFIXES[one]));
    const plain = encoding ? name.slice(0, -SUFFIXES[encoding].length) : name;
    files.set(plain, { ...files.get(plain), [encoding ?? 'identity']: await readFile(path) });
  }
  return files;
}
