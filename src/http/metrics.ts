/** `GET /metrics`: for the holder of the admin token, or, where there is none, for this machine alone. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { GatewayError } from '../core/errors.ts';
import type { MetricsRouteOptions, RequestContext } from './context.ts';
import { nothingAt } from './paths.ts';

export type AnswerMetrics = (exchange: Pick<RequestContext, 'request' | 'reply' | 'common'>) => Promise<FastifyReply>;

/** Throws `invalid_api_key`, and `not_found` where nobody may see them. */
export function createMetricsAnswer({ metrics, token, local, log }: MetricsRouteOptions): AnswerMetrics {
  let hinted = false;

  function admit(authorization: string | undefined): void {
    if (token) {
      const presented = /^bearer\s+(\S+)\s*$/i.exec(authorization ?? '')?.[1];
      if (presented !== undefined && isEqual(presented, token.reveal())) return;
      throw new GatewayError('invalid_api_key', 'The admin token is required: Authorization: Bearer <token>.');
    }
    if (local) return;
    if (!hinted) log.info('GET /metrics is asked for; set admin.token to open it, or listen on loopback');
    hinted = true;
    throw nothingAt('GET', '/metrics');
  }

  return async ({ request, reply, common }) => {
    admit(request.headers.authorization);
    const text = await metrics.text();
    return reply.headers({ ...common, 'content-type': metrics.contentType, 'cache-control': 'no-store' }).send(text);
  };
}

function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
