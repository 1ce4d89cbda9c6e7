/** Limit of the bodies of routes for anyone, checked before a byte of them is read. */

import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../core/errors.ts';
import { announcedLength } from './body.ts';
import type { Route } from './route-table.ts';

const MAX_BYTES = 4096;

/** Throws `payload_too_large`, also for a body of unknown length. */
export function checkSmallBody({ smallBody }: Pick<Route, 'smallBody'>, headers: IncomingHttpHeaders): void {
  if (!smallBody) return;
  if (headers['transfer-encoding'] === undefined && announcedLength(headers) <= MAX_BYTES) return;
  throw new GatewayError('payload_too_large', `The body must have a content-length of at most ${MAX_BYTES} bytes.`);
}
