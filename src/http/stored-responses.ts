/** Routes of stored responses: get, cancel, delete, and list of input items. */

import { Readable } from 'node:stream';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { replayStream } from '../protocols/responses/replay-stream.ts';
import type { BackgroundResponses } from '../stored-responses/background.ts';
import type { BackgroundStreams } from '../stored-responses/background-stream.ts';
import { unknownResponse } from '../stored-responses/errors.ts';
import type { AskKeeper, KeeperRequest } from '../stored-responses/keeper-client.ts';
import type { StoredResponses } from '../stored-responses/service.ts';
import { openBackgroundStream, STREAM_HEADERS } from './background/stream.ts';
import { noRoom } from './body.ts';
import type { BodyBudget } from './body-budget.ts';
import type { HttpResponse } from './http-response.ts';
import type { ResponseAction } from './openapi/responses.ts';
import { createRate } from './rate.ts';
import { keyOf, type RequestContext } from './request-context.ts';
import { pageOf, passedQuery, readItemPage, readRetrieval } from './response-queries.ts';

export interface ResponseHandlersOptions {
  stored: StoredResponses;
  background: BackgroundResponses;
  streams: BackgroundStreams;
  askKeeper: AskKeeper;
  bodyBudget: BodyBudget;
  clock: Pick<Clock, 'monotonic'>;
}

export type ResponseHandlers = Readonly<
  Record<ResponseAction, (context: RequestContext, match: { id: string }) => Promise<void>>
>;

/** Requests of one key: above what polling needs. */
const KEY_RATE = { rate: 50, burst: 100 };

export function createResponseHandlers(options: ResponseHandlersOptions): ResponseHandlers {
  const { stored, background, streams, askKeeper, bodyBudget, clock } = options;
  const perKey = createRate({ ...KEY_RATE, now: clock.monotonic });

  function ownerOf(context: RequestContext): string {
    const owner = keyOf(context).id;
    const wait = perKey(owner);
    if (wait === 0) return owner;
    throw new GatewayError(
      'rate_limit_exceeded',
      'Too many requests about stored responses with this key; slow down.',
      {
        retryAfter: wait,
      },
    );
  }

  function send(context: RequestContext, { headers, ...response }: HttpResponse): void {
    context.send({ ...response, headers: { 'cache-control': 'no-store', ...headers } });
  }

  async function relay(context: RequestContext, request: KeeperRequest): Promise<void> {
    const { type, body } = await askKeeper(request);
    send(context, { headers: { 'content-type': type }, body });
  }

  /** Makes room for the content until the request ends. */
  function reserveFor(context: RequestContext, owner: string): (bytes: number) => void {
    return (bytes) => {
      const reservation = bodyBudget.open(owner, bytes);
      if (!reservation) throw noRoom();
      context.hold.keep(reservation.release);
    };
  }

  return {
    async get(context, { id }) {
      const { include, stream, startingAfter } = readRetrieval(context.query);
      const found = await stored.find(ownerOf(context), id);
      if (!found.content) {
        const suffix = passedQuery(context.query);
        return relay(context, { method: 'GET', stored: found.stored, suffix });
      }
      const response = stored.encode(found.content, include);
      if (!stream) return send(context, { body: response });
      if (found.stored.background) {
        const part = { from: (startingAfter ?? -1) + 1, include };
        const events = await openBackgroundStream(found, part, { stored, streams });
        if (events) return send(context, { headers: STREAM_HEADERS, body: events });
      }
      const body = Readable.from(replayStream(response, startingAfter));
      return send(context, { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body });
    },

    async delete(context, { id }) {
      const owner = ownerOf(context);
      const found = await stored.find(owner, id);
      if (!found.content) await askKeeper({ method: 'DELETE', stored: found.stored, suffix: '' });
      if (!(await stored.remove(owner, id))) throw unknownResponse(id);
      return send(context, { body: { id, object: 'response.deleted', deleted: true } });
    },

    async cancel(context, { id }) {
      return send(context, { body: await background.cancel(ownerOf(context), id) });
    },

    async items(context, { id }) {
      const page = readItemPage(context.query);
      const owner = ownerOf(context);
      const items = await stored.inputItems({ owner, reserve: reserveFor(context, owner) }, id);
      if (items) return send(context, { body: pageOf(items, page) });
      const { stored: kept } = await stored.find(owner, id);
      const suffix = `/input_items${passedQuery(context.query)}`;
      return relay(context, { method: 'GET', stored: kept, suffix });
    },
  };
}
