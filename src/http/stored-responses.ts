/** Handlers of stored responses: get, cancel, delete, and list of input items. */

import { Readable } from 'node:stream';
import { replayStream } from '../protocols/responses/replay-stream.ts';
import type { BackgroundResponses } from '../stored-responses/background.ts';
import type { BackgroundStreams } from '../stored-responses/background-stream.ts';
import { unknownResponse } from '../stored-responses/errors.ts';
import type { AskKeeper, KeeperRequest } from '../stored-responses/keeper-client.ts';
import type { StoredResponses } from '../stored-responses/service.ts';
import { openBackgroundStream, STREAM_HEADERS } from './background/stream.ts';
import type { BodyBudget } from './body-budget.ts';
import type { ResponseAction } from './openapi/responses.ts';
import type { RequestContext } from './request-context.ts';
import { pageOf, passedQuery, readInclude, readItemPage, readRetrieval } from './response-queries.ts';
import type { StoredRequests } from './stored-requests.ts';

export interface ResponseHandlersOptions {
  stored: StoredResponses;
  background: BackgroundResponses;
  streams: BackgroundStreams;
  askKeeper: AskKeeper;
  requests: StoredRequests;
  bodyBudget: BodyBudget;
}

export type ResponseHandlers = Readonly<
  Record<ResponseAction, (context: RequestContext, match: { id: string }) => Promise<void>>
>;

export function createResponseHandlers(options: ResponseHandlersOptions): ResponseHandlers {
  const { stored, background, askKeeper, requests } = options;
  const { ownerOf, readerOf, send } = requests;

  async function relay(context: RequestContext, request: KeeperRequest): Promise<void> {
    const { type, body } = await askKeeper(request);
    return send(context, { headers: { 'content-type': type }, body });
  }

  return {
    async get(context, { id }) {
      const { include, stream, startingAfter } = readRetrieval(context.query);
      const found = await stored.find(readerOf(context), id);
      if (!found.content) {
        const suffix = passedQuery(context.query);
        return relay(context, { method: 'GET', stored: found.stored, suffix });
      }
      const response = stored.encode(found.content, include);
      const { dropped } = found.content;
      const own: Record<string, string> = dropped === undefined ? {} : { 'x-polygate-dropped': dropped };
      if (!stream) return send(context, { headers: own, body: response });
      if (found.stored.background) {
        const events = await openBackgroundStream(found, (startingAfter ?? -1) + 1, options);
        // A stream that lasts holds memory for what its client has not taken alone.
        if (events) requests.release(context);
        if (events) return send(context, { headers: { ...STREAM_HEADERS, ...own }, body: events });
      }
      const body = Readable.from(replayStream(response, startingAfter));
      return send(context, { headers: { ...STREAM_HEADERS, ...own }, body });
    },

    async delete(context, { id }) {
      const owner = ownerOf(context);
      const found = await stored.locate(owner, id);
      if (found.credential !== undefined) await askKeeper({ method: 'DELETE', stored: found, suffix: '' });
      if (!(await stored.remove(owner, id))) throw unknownResponse(id);
      return send(context, { body: { id, object: 'response.deleted', deleted: true } });
    },

    async cancel(context, { id }) {
      return send(context, { body: await background.cancel(readerOf(context), id) });
    },

    async items(context, { id }) {
      const page = readItemPage(context.query);
      const reader = readerOf(context);
      const items = await stored.inputItems(reader, id, readInclude(context.query));
      if (items) return send(context, { body: pageOf(items, page) });
      const kept = await stored.locate(reader.owner, id);
      const suffix = `/input_items${passedQuery(context.query)}`;
      return relay(context, { method: 'GET', stored: kept, suffix });
    },
  };
}
