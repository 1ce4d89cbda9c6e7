/** Response headers and trailers: endpoint, dropped parameters, unshown content and cost. */

import type { OpenPart } from '../../core/chat.ts';
import { keysOf } from '../../core/credential.ts';
import { decimalOf } from '../../core/money.ts';
import { isPriced } from '../../core/prices.ts';
import type { Consumption } from '../../usage/meter.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';

/** Maximum length of a header value; member names of a body have no limit, and clients refuse long headers. */
const MAX_HEADER_CHARACTERS = 2000;
const VISIBLE = /^[\x21-\x7e]{1,200}$/;

/** Headers of a 200 response. Of the upstream's headers only the request id is passed on. */
export function responseHeaders(
  context: ResponseContext,
  upstream: UpstreamHeaders,
  type: string,
): Record<string, string> {
  const { endpoint, planned } = context;
  const headers: Record<string, string> = {
    'content-type': type,
    'x-polygate-provider': endpoint.provider.id,
    'x-polygate-path': planned.path,
  };
  if (planned.dropped.length > 0) Object.assign(headers, droppedHeader(planned.dropped));
  Object.assign(headers, context.routingHeaders());
  const requestId = upstream['x-request-id'] ?? upstream['request-id'];
  const isShown =
    requestId && VISIBLE.test(requestId) && !keysOf(endpoint.credential.value).some((key) => requestId.includes(key));
  if (isShown) headers['x-polygate-upstream-request-id'] = requestId;
  return headers;
}

/** Names of the dropped parameters. */
function droppedHeader(names: readonly string[]): Record<string, string> {
  const dropped = names
    .join(', ')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, MAX_HEADER_CHARACTERS);
  return dropped === '' ? {} : { 'x-polygate-dropped': dropped };
}

const LINK = /^https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]{1,1000}$/;

/**
 * Names of the response content that the client's protocol cannot represent, added to `before`, as a header or trailer.
 * Content with a URL is linked; an inline picture is linked if it can be stored.
 */
export function unshownHeaders(
  { call: { protocol, requestId }, assembler, pictures }: ResponseContext,
  before: readonly string[] = [],
): Record<string, string> {
  const { complete } = protocol.operations;
  if (!assembler || !complete.unshown) return {};
  let index = 0;
  const keep = (data: string) => pictures?.keep({ requestId, index: index++, data });
  const unshown = assembler.parts().flatMap((part) => {
    const found = complete.unshown?.(part);
    if (!found || found.url) return found ?? [];
    const data = pictureIn(part);
    return { ...found, ...(data !== undefined && { url: keep(data) }) };
  });
  if (unshown.length === 0) return {};
  const links = linksOf(unshown.flatMap(({ url }) => (url && LINK.test(url) ? [`<${url}>; rel="enclosure"`] : [])));
  return {
    ...droppedHeader([...new Set([...before, ...unshown.map(({ name }) => name)])]),
    ...(links !== '' && { link: links }),
  };
}

/** Joins as many complete links as a header may hold. */
function linksOf(links: readonly string[]): string {
  return links.reduce((all, link) => {
    const longer = all === '' ? link : `${all}, ${link}`;
    return longer.length > MAX_HEADER_CHARACTERS ? all : longer;
  }, '');
}

/** Base64 of an inline picture. */
function pictureIn(part: OpenPart): string | undefined {
  return part.type === 'media' && part.kind === 'image' ? part.data : undefined;
}

const COST_HEADER = 'x-polygate-cost';

/** Cost of a response in USD, as a header or trailer; empty without a known price. */
export function costHeader(context: ResponseContext, consumption: Consumption): Record<string, string> {
  const cost = context.call.operation.name === 'count-tokens' ? undefined : context.charge(consumption);
  return cost === undefined ? {} : { [COST_HEADER]: decimalOf(cost) };
}

/** Announces the cost trailer if the endpoint has a price. */
export function costTrailer({ endpoint }: ResponseContext): Record<string, string> {
  return isPriced(endpoint.model) ? { trailer: COST_HEADER } : {};
}
