/** Response headers and trailers of an answer: who gave it, what was left out, what it costs. */

import type { OpenPart } from '../../core/chat.ts';
import { decimalOf } from '../../core/money.ts';
import { type Consumption, isPriced } from '../../usage/meter.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';

/** Clients give up on answers whose headers are too long; the names of a body's members have no limit. */
const MAX_HEADER_CHARACTERS = 2000;
const VISIBLE = /^[\x21-\x7e]{1,200}$/;

/** Headers of a 200 answer; those of the upstream stay behind, but for its request id. */
export function answerHeaders(
  context: ResponseContext,
  upstream: UpstreamHeaders,
  type: string,
): Record<string, string> {
  const { endpoint, planned } = context;
  const requestId = upstream['x-request-id'] ?? upstream['request-id'];
  return {
    'content-type': type,
    'x-polygate-provider': endpoint.provider.id,
    'x-polygate-path': planned.path,
    ...droppedHeader(planned.dropped),
    ...context.routingHeaders(),
    ...(requestId && VISIBLE.test(requestId) && { 'x-polygate-upstream-request-id': requestId }),
  };
}

/** What was left out, by its names. */
function droppedHeader(names: readonly string[]): Record<string, string> {
  const dropped = names
    .join(', ')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, MAX_HEADER_CHARACTERS);
  return dropped === '' ? {} : { 'x-polygate-dropped': dropped };
}

const LINK = /^https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]{1,1000}$/;

/**
 * What of an answer the client's protocol has no place for, named beside `before` as a header or trailer. Where it has an
 * address it is linked, and a picture without one where it can be kept.
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

/** As many whole links as a header holds. */
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

export const COST_HEADER = 'x-polygate-cost';

/** What an answer costs in USD, as a header or trailer; none where nobody knows. */
export function costHeader({ call, charge }: ResponseContext, consumption: Consumption): Record<string, string> {
  const cost = call.operation.name === 'count-tokens' ? undefined : charge(consumption);
  return cost === undefined ? {} : { [COST_HEADER]: decimalOf(cost) };
}

/** Announces the cost where it will be known. */
export function costTrailer({ endpoint }: ResponseContext): Record<string, string> {
  return isPriced(endpoint.model) ? { trailer: COST_HEADER } : {};
}
