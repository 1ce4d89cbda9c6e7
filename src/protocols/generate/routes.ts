/** Paths of generateContent, for clients of all API versions and for upstreams. */

import { GatewayError } from '../../core/errors.ts';
import type { ClientRoute, Prefixes, RouteMatch, RouteTemplate } from '../../core/operation.ts';

const VERSIONS = ['v1beta', 'v1', 'v1beta1'];
const METHODS = [
  'generateContent',
  'streamGenerateContent',
  'countTokens',
  'embedContent',
  'batchEmbedContents',
] as const;

export type Method = (typeof METHODS)[number];

/** Returns the paths at which clients of each version begin. */
export function versionPaths({ generate }: Prefixes): string[] {
  return VERSIONS.map((version) => `/${generate}/${version}`);
}

/** The routes of methods after a model's name, e.g. `models/{model}:countTokens`. */
export function methodRoutes(
  prefixes: Prefixes,
  methods: Partial<Record<Method, { match(query: URLSearchParams): RouteMatch; streams?: true }>>,
): ClientRoute<RouteMatch>[] {
  return versionPaths(prefixes).map((path) => ({
    method: 'POST',
    path,
    match(rest, query) {
      const name = resourceOf(rest);
      if (name === undefined) return undefined;
      const colon = name.lastIndexOf(':');
      const model = name.slice(0, colon).replace(/^models\//, '');
      if (colon < 0 || model === '' || model.endsWith('/')) return undefined;
      const method = name.slice(colon + 1);
      if (!isMethod(method)) {
        throw new GatewayError('not_found', `There is no method "${method}"; there are ${METHODS.join(', ')}.`);
      }
      const known = methods[method];
      return known && { model, ...known.match(query) };
    },
    templates: Object.entries(methods).map(
      ([method, { streams }]): RouteTemplate => ({
        path: `${path}/models/{provider}/{model}:${method}`,
        ...(streams && { streams }),
      }),
    ),
  }));
}

/**
 * The path as one name, `models/<provider>/<model>` for the spelling with publishers too. Undefined for a path that
 * names nothing: empty or dot segments, and slashes that were encoded twice.
 */
export function resourceOf(rest: string[]): string | undefined {
  const segments = rest.flatMap((segment) => segment.split('/'));
  if (segments.length === 0) return undefined;
  if (segments.some((segment) => segment === '' || /^\.\.?(:|$)/.test(segment) || /%(2f|2e|25)/i.test(segment))) {
    return undefined;
  }
  if (segments[0] === 'projects' && segments[2] === 'locations') segments.splice(0, 4);
  if (segments[0] === 'publishers' && segments[2] === 'models') {
    return ['models', segments[1], ...segments.slice(3)].join('/');
  }
  return segments.join('/');
}

/** The path of a method at an upstream. Throws `model_not_found` for an id that would lead out of the models there. */
export function modelPath(model: string, method: Method): string {
  if (/(^|\/)\.\.?(\/|$)/.test(model))
    throw new GatewayError('model_not_found', `There is no model "${model}".`, { param: 'model' });
  return `/v1beta/models/${model.split('/').map(encodeURIComponent).join('/')}:${method}`;
}

function isMethod(text: string): text is Method {
  return (METHODS as readonly string[]).includes(text);
}
