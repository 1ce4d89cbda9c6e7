/** Query parameters `from` and `to` of lists of things with a time of creation. */

import * as Type from 'typebox';
import { GatewayError } from '../core/errors.ts';
import type { CreatedBetween } from '../store/list-search.ts';
import { parseMoment } from '../usage/report.ts';
import type { Parameter } from './openapi/operation.ts';

export const CREATED_PARAMETERS: readonly Parameter[] = [
  { name: 'from', schema: Type.String(), description: 'ISO time from which on they were created.' },
  { name: 'to', schema: Type.String(), description: 'ISO time before which they were created.' },
];

/** Throws `invalid_request` that names the parameter. */
export function readCreatedSpan(query: URLSearchParams): CreatedBetween {
  const [from, to] = [query.get('from'), query.get('to')];
  const span: CreatedBetween = {
    ...(from !== null && { from: parseMoment('from', from) }),
    ...(to !== null && { to: parseMoment('to', to) }),
  };
  if (span.from !== undefined && span.to !== undefined && span.from >= span.to) {
    throw new GatewayError('invalid_request', 'from must be before to.', { param: 'from' });
  }
  return span;
}
