/** Routes of video tasks below `/v1/videos`, and of mirrored pictures. */

import type { Protocol } from '../../core/protocol.ts';
import { VIDEO_SURFACE } from '../../protocols/index.ts';
import { VIDEO_DESCRIPTIONS, type VideoAction } from '../openapi/videos.ts';
import type { RequestContext } from '../request-context.ts';
import { literalStart, type Route } from '../route-table.ts';
import type { VideoHandlers, VideoMatch } from '../videos/handlers.ts';

interface VideoRoute extends Pick<Route, 'method'> {
  action: VideoAction;
  template: string;
  pattern: RegExp;
  /** Needs no key: model lists and signed URLs. */
  anyone?: true;
}

const ROUTES: readonly VideoRoute[] = [
  { action: 'list', method: 'GET', template: '/v1/videos', pattern: /^\/v1\/videos\/?$/ },
  { action: 'create', method: 'POST', template: '/v1/videos', pattern: /^\/v1\/videos\/?$/ },
  {
    action: 'models',
    method: 'GET',
    template: '/v1/videos/models',
    pattern: /^\/v1\/videos\/models\/?$/,
    anyone: true,
  },
  { action: 'get', method: 'GET', template: '/v1/videos/{id}', pattern: /^\/v1\/videos\/([^/]+)\/?$/ },
  { action: 'delete', method: 'DELETE', template: '/v1/videos/{id}', pattern: /^\/v1\/videos\/([^/]+)\/?$/ },
  {
    action: 'cancel',
    method: 'POST',
    template: '/v1/videos/{id}/cancel',
    pattern: /^\/v1\/videos\/([^/]+)\/cancel$/,
  },
  {
    action: 'content',
    method: 'GET',
    template: '/v1/videos/{id}/content',
    pattern: /^\/v1\/videos\/([^/]+)\/content$/,
  },
  {
    action: 'file',
    method: 'GET',
    template: '/v1/videos/{id}/files/{file}',
    pattern: /^\/v1\/videos\/([^/]+)\/files\/(\d{1,3})\.\w+$/,
    anyone: true,
  },
  {
    action: 'picture',
    method: 'GET',
    template: '/v1/files/pictures/{name}',
    pattern: /^\/v1\/files\/pictures\/([^/]+)$/,
    anyone: true,
  },
  {
    action: 'deliveries',
    method: 'GET',
    template: '/v1/videos/{id}/deliveries',
    pattern: /^\/v1\/videos\/([^/]+)\/deliveries$/,
  },
  {
    action: 'replay',
    method: 'POST',
    template: '/v1/videos/{id}/deliveries/replay',
    pattern: /^\/v1\/videos\/([^/]+)\/deliveries\/replay$/,
  },
];

export function videoRoutes(protocol: Protocol, handlers: VideoHandlers): Route<RequestContext>[] {
  return ROUTES.map(
    ({ action, method, template, pattern, anyone }): Route<RequestContext, VideoMatch> => ({
      name: `videos.${action}`,
      method,
      path: literalStart(template),
      match(path) {
        const found = pattern.exec(path);
        if (!found) return undefined;
        const [, id = '', index = '0'] = found;
        return { id, index: Number(index) };
      },
      templates: [{ path: template }],
      protocol,
      surface: VIDEO_SURFACE,
      access: anyone ? 'anyone' : 'key',
      changes: method !== 'GET',
      limited: action === 'create',
      ...(!anyone && { hasOwnQuery: true }),
      describe: () => ({ id: `videos_${action}`, tag: 'videos', ...VIDEO_DESCRIPTIONS[action] }),
      handle: handlers[action],
    }),
  );
}
