/** The root path: a small page for browsers, links as JSON for programs, nothing for `HEAD`. */

import type { RequestContext } from './request-context.ts';

const LINKS = {
  health: '/readyz',
  models: '/v1/models',
  video_models: '/v1/videos/models',
  openapi: '/openapi.json',
};

/** The page has no scripts and loads nothing. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `hasPages` sends browsers to the dashboard. */
export function serveRoot(context: RequestContext, isReady: boolean, hasPages: boolean): void {
  const { method, headers } = context.request;
  if (method === 'HEAD') {
    context.send({ status: 204 });
    return;
  }
  const vary = { vary: 'accept', 'cache-control': 'no-store' };
  if (!prefersHtml(headers.accept)) {
    context.send({ headers: vary, body: { name: 'polygate', links: LINKS } });
    return;
  }
  if (hasPages) {
    context.send({ status: 303, headers: { ...vary, location: '/ui' } });
    return;
  }
  const html = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY };
  context.send({ headers: { ...vary, ...html, 'x-content-type-options': 'nosniff' }, body: page(isReady) });
}

function prefersHtml(accept = ''): boolean {
  return /\btext\/html\b/i.test(accept.slice(0, 1000));
}

function page(isReady: boolean): string {
  const links = Object.entries(LINKS).map(
    ([name, path]) => `<li><a href="${path}">${name.replace('_', ' ')}</a> <code>${path}</code></li>`,
  );
  const state = isReady ? 'It is ready for requests.' : 'It cannot write its store and refuses requests for now.';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Polygate</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
li { margin: 0.25rem 0; } code { opacity: 0.7; }
</style>
<main>
<h1>Polygate</h1>
<p>A gateway in front of AI models. ${state}</p>
<p>Send requests to <code>/v1/chat/completions</code> of this address with your API key.</p>
<ul>
${links.join('\n')}
</ul>
</main>
</html>
`;
}
