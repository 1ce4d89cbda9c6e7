/** Which paths of `/v1/videos` there are, and what each of them does. */

import { GatewayError } from '../core/errors.ts';

export type VideoRoute =
  | { action: 'create' }
  | { action: 'list' }
  | { action: 'models' }
  | { action: 'get' | 'delete' | 'cancel' | 'content' | 'deliveries' | 'replay'; id: string }
  | { action: 'file'; id: string; index: number };

type Action = VideoRoute['action'];

interface VideoPath {
  /** For the description of the API. */
  template: string;
  path: RegExp;
  methods: Partial<Record<string, Action>>;
}

export const VIDEO_PATHS: readonly VideoPath[] = [
  { template: '/v1/videos', path: /^\/v1\/videos\/?$/, methods: { GET: 'list', POST: 'create' } },
  { template: '/v1/videos/models', path: /^\/v1\/videos\/models\/?$/, methods: { GET: 'models' } },
  { template: '/v1/videos/{id}', path: /^\/v1\/videos\/([^/]+)\/?$/, methods: { GET: 'get', DELETE: 'delete' } },
  { template: '/v1/videos/{id}/cancel', path: /^\/v1\/videos\/([^/]+)\/cancel$/, methods: { POST: 'cancel' } },
  { template: '/v1/videos/{id}/content', path: /^\/v1\/videos\/([^/]+)\/content$/, methods: { GET: 'content' } },
  {
    template: '/v1/videos/{id}/files/{file}',
    path: /^\/v1\/videos\/([^/]+)\/files\/(\d{1,3})\.\w+$/,
    methods: { GET: 'file' },
  },
  {
    template: '/v1/videos/{id}/deliveries',
    path: /^\/v1\/videos\/([^/]+)\/deliveries$/,
    methods: { GET: 'deliveries' },
  },
  {
    template: '/v1/videos/{id}/deliveries/replay',
    path: /^\/v1\/videos\/([^/]+)\/deliveries\/replay$/,
    methods: { POST: 'replay' },
  },
];

/** Lists and signed addresses are for anyone; everything else is for the holder of a key. */
export function isPublic({ action }: VideoRoute): boolean {
  return action === 'models' || action === 'file';
}

/** Whether it starts, changes or ends something. */
export function changes({ action }: VideoRoute): boolean {
  return action === 'create' || action === 'delete' || action === 'cancel' || action === 'replay';
}

/** Undefined for paths that have nothing to do with videos. Throws `method_not_allowed` and `not_found`. `HEAD` reads like `GET`. */
export function videoRoute(method: string, path: string): VideoRoute | undefined {
  if (path !== '/v1/videos' && !path.startsWith('/v1/videos/')) return undefined;
  for (const { path: pattern, methods } of VIDEO_PATHS) {
    const match = pattern.exec(path);
    if (!match) continue;
    const action = methods[method === 'HEAD' ? 'GET' : method];
    if (!action) throw notAllowed(method, path, Object.keys(methods));
    const [, id = '', index = '0'] = match;
    return action === 'file' ? { action, id, index: Number(index) } : ({ action, id } as VideoRoute);
  }
  throw new GatewayError('not_found', `There is nothing at ${method} ${path}.`);
}

function notAllowed(method: string, path: string, methods: string[]): GatewayError {
  const allow = methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ');
  return new GatewayError('method_not_allowed', `${path} takes ${allow}, not ${method}.`, { allow });
}
