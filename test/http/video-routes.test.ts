/** Paths of the video routes. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRouteTable, type FoundRoute } from '../../src/http/route-table.ts';
import { videoRoutes } from '../../src/http/routes/videos.ts';
import type { VideoHandlers } from '../../src/http/videos/handlers.ts';
import { protocolOf } from '../../src/protocols/index.ts';

const chat = protocolOf('chat');
const table = createRouteTable(videoRoutes(chat, {} as VideoHandlers), chat);

function find(method: string, path: string): FoundRoute<never> {
  const found = table.find(method, path, new URLSearchParams());
  if (found.route) return found;
  throw found.error;
}

/** The action of a route, with the index of a file where it is one. */
function actionOf(method: string, path: string): object {
  const { name, match } = find(method, path);
  const { id, index } = match as { id: string; index: number };
  const action = name.replace('videos.', '');
  return { action, ...(id && { id }), ...(action === 'file' && { index }) };
}

const ID = '0b9e6c1e-0000-4000-8000-000000000000';

describe('paths', () => {
  const CASES: [string, string, object | undefined][] = [
    ['POST', '/v1/videos', { action: 'create' }],
    ['GET', '/v1/videos/', { action: 'list' }],
    ['GET', '/v1/videos/models', { action: 'models' }],
    ['GET', `/v1/videos/${ID}`, { action: 'get', id: ID }],
    ['GET', '/v1/videos/anything', { action: 'get', id: 'anything' }],
    ['DELETE', `/v1/videos/${ID}`, { action: 'delete', id: ID }],
    ['POST', `/v1/videos/${ID}/cancel`, { action: 'cancel', id: ID }],
    ['HEAD', `/v1/videos/${ID}/content`, { action: 'content', id: ID }],
    ['HEAD', `/v1/videos/${ID}/files/2.mp4`, { action: 'file', id: ID, index: 2 }],
    ['GET', `/v1/videos/${ID}/deliveries`, { action: 'deliveries', id: ID }],
    ['POST', `/v1/videos/${ID}/deliveries/replay`, { action: 'replay', id: ID }],
    ['DELETE', `/v1/videos/${ID}/`, { action: 'delete', id: ID }],
    ['GET', '/v1/models', undefined],
    ['GET', '/v1/videosandmore', undefined],
  ];
  for (const [method, path, expected] of CASES) {
    test(`${method} ${path}`, () => {
      if (expected) assert.deepEqual(actionOf(method, path), expected);
      else assert.throws(() => find(method, path), { code: 'not_found' });
    });
  }
});

test('other methods are refused with those that work', () => {
  const refused = (method: string, path: string, allow: string) =>
    assert.throws(() => find(method, path), { code: 'method_not_allowed', allow });
  refused('PUT', '/v1/videos', 'GET, HEAD, POST');
  refused('POST', '/v1/videos/models', 'GET, HEAD');
  refused('PATCH', `/v1/videos/${ID}`, 'GET, HEAD, DELETE');
  refused('GET', `/v1/videos/${ID}/cancel`, 'POST');
  refused('DELETE', `/v1/videos/${ID}/content`, 'GET, HEAD');
});

test('below a task there is nothing else', () => {
  for (const path of [`/v1/videos/${ID}/remix`, `/v1/videos/${ID}/files/x.mp4`, '/v1/videos//content']) {
    assert.throws(() => find('GET', path), { code: 'not_found' });
  }
});
