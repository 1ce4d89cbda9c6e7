/** An upstream over real HTTP that behaves as a test says, and the adapter that speaks with it: its responses are results as they stand. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import type { Provider } from '../../src/core/provider.ts';
import type { VideoApi, VideoResponse } from '../../src/core/video.ts';
import { createHeaderPlatform } from '../../src/providers/platform/headers.ts';

/** A JSON response, raw bytes, or a connection that breaks before or after the task exists. */
export type Reply =
  | {
      status?: number;
      json?: Json;
      raw?: string;
      headers?: Record<string, string>;
      after?: number;
      until?: Promise<void>;
    }
  | 'reset';

export interface Submission {
  id: string;
  attemptId: string;
  key: string | undefined;
}

export interface ScriptedUpstream {
  url: string;
  /** Tasks that came into being. */
  readonly submissions: Submission[];
  /** POSTs, taken or not. */
  posts: number;
  polls: number;
  cancels: number;
  /** Submissions on a connection that had served another request. */
  reused: number;
  /** What a submission gets; the default takes it. `take` makes the task exist. */
  onSubmit(take: () => Submission, key: string | undefined): Reply;
  /** What the poll of a task gets, by how many came before. */
  onPoll(before: number, id: string): Reply;
  onCancel(id: string): Reply;
  onFind(attemptId: string): Reply;
  onMedia(path: string): Reply;
  close(): void;
}

export const taken = ({ id }: Submission): Reply => ({ json: { type: 'accepted', ref: { id } } });
export const says = (json: Json): Reply => ({ json });
export const completed = (more: Json = {}): Reply =>
  says({ type: 'completed', assets: [{ url: 'https://cdn.example.com/0.mp4' }], seconds: 8, cost: '3.20', ...more });

export async function startUpstream(context: TestContext): Promise<ScriptedUpstream> {
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const polls = new Map<string, number>();
  const upstream: ScriptedUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    submissions: [],
    posts: 0,
    polls: 0,
    cancels: 0,
    reused: 0,
    onSubmit: (take) => taken(take()),
    onPoll: () => completed(),
    onCancel: () => says({ type: 'accepted' }),
    onFind: (attemptId) => {
      const found = upstream.submissions.find((submission) => submission.attemptId === attemptId);
      return says(found ? { type: 'found', ref: { id: found.id } } : { type: 'none' });
    },
    onMedia: () => ({ status: 404 }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  context.after(upstream.close);

  const sockets = new WeakSet<object>();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (sockets.has(request.socket) && request.method === 'POST' && request.url === '/videos') upstream.reused += 1;
    sockets.add(request.socket);
    let text = '';
    for await (const chunk of request) text += chunk;
    const reply = replyTo(request.method ?? '', request.url ?? '', { text, key: request.headers.authorization });
    if (reply === 'reset') return void request.socket.destroy();
    if (reply.after) await delay(reply.after);
    await reply.until;
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.raw ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)));
  }

  function replyTo(method: string, url: string, { text, key }: { text: string; key: string | undefined }): Reply {
    const [, , id = '', verb] = url.split(/[/?=]/);
    if (url.startsWith('/media/')) return upstream.onMedia(url);
    if (url.startsWith('/videos?attempt')) return upstream.onFind(verb ?? '');
    if (method === 'POST' && id === '') {
      upstream.posts += 1;
      return upstream.onSubmit(() => {
        const { attemptId } = JSON.parse(text);
        const submission = { id: `up-${upstream.submissions.length}`, attemptId, key };
        upstream.submissions.push(submission);
        return submission;
      }, key);
    }
    if (verb === 'cancel') {
      upstream.cancels += 1;
      return upstream.onCancel(id);
    }
    upstream.polls += 1;
    const before = polls.get(id) ?? 0;
    polls.set(id, before + 1);
    return upstream.onPoll(before, id);
  }
  return upstream;
}

function typed({ status, body }: VideoResponse): Json {
  return status < 300 && typeof body?.type === 'string' ? body : { type: 'unreadable' };
}

export const scriptedApi: VideoApi = {
  submit: (request, { attemptId }) => ({
    method: 'POST',
    path: '/videos',
    body: { attemptId, prompt: request.prompt },
    read: (response) =>
      response.status < 400
        ? typed(response)
        : {
            type: 'rejected',
            error: { code: 'upstream_rejected', message: `Refused with ${response.status}.` },
            retryable: response.status === 429 || response.status === 402,
          },
  }),
  poll: ({ id }) => ({ method: 'GET', path: `/videos/${id}`, read: typed }),
  cancel: ({ id }) => ({ method: 'POST', path: `/videos/${id}/cancel`, read: typed }),
  find: ({ attemptId }) => ({ method: 'GET', path: `/videos?attempt=${attemptId}`, read: typed }),
};

export function scriptedProvider(baseUrl: string, video: VideoApi): Provider {
  return {
    ...{ id: 'up', speaks: () => [], environment: [], video },
    platform: createHeaderPlatform({ baseUrl, credential: (key) => ({ authorization: key }) }),
  };
}
