/** What is looked at rather than used: signs of life, figures, and the description of the API. */

import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { GatewayError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { MetricsRouteOptions, RequestContext } from './context.ts';
import { createMetricsAnswer } from './metrics.ts';
import { createDocument, type DocumentOptions } from './openapi/document.ts';
import { createReadiness } from './readiness.ts';

export interface PagesOptions extends DocumentOptions {
  store: Pick<Store, 'health'>;
  recorder?: Pick<Recorder, 'ready'>;
  metrics?: Omit<MetricsRouteOptions, 'log'>;
  log: Logger;
}

export interface SystemPage {
  /** Its name in logs and figures. */
  route: string;
  answer(exchange: RequestContext): FastifyReply | Promise<FastifyReply>;
}

/** By their paths. */
export type Pages = ReadonlyMap<string, SystemPage>;

export function createPages({ store, recorder, metrics, log, ...description }: PagesOptions): Pages {
  const answerReadiness = createReadiness(store, log, recorder);
  const pages = new Map<string, SystemPage>([
    ['/healthz', { route: 'health', answer: ({ reply }) => reply.send({ status: 'ok' }) }],
    ['/openapi.json', { route: 'openapi', answer: createDescription(description) }],
    ['/readyz', { route: 'readiness', answer: ({ reply }) => answerReadiness(reply) }],
  ]);
  if (metrics) pages.set('/metrics', { route: 'metrics', answer: createMetricsAnswer({ ...metrics, log }) });
  return pages;
}

/** Made when somebody first asks. */
function createDescription(options: DocumentOptions): SystemPage['answer'] {
  let document: Buffer | undefined;
  return ({ reply, common }) => {
    document ??= Buffer.from(JSON.stringify(createDocument(options)));
    const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=60' };
    return reply.headers({ ...common, ...headers }).send(document);
  };
}

/** Throws `method_not_allowed` for a page that is not merely looked at. */
export function pageOf(
  pages: Pages,
  { request, path }: Pick<RequestContext, 'request' | 'path'>,
): SystemPage | undefined {
  const page = pages.get(path);
  if (!page || request.method === 'GET' || request.method === 'HEAD') return page;
  throw new GatewayError('method_not_allowed', `${path} takes GET, HEAD, not ${request.method}.`, {
    allow: 'GET, HEAD',
  });
}
