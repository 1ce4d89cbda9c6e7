/**
 * Webhook verification for receivers: the package `@polygate/webhooks`, and the export `polygate/webhooks`. Depends on Node
 * only, its types on nothing.
 */

import { createHmac } from 'node:crypto';
import { encodeSignature, headerOf, matchesAny, SIGNATURE_HEADER } from './verification.ts';

/** A webhook with a verified signature. */
export interface Webhook {
  event:
    | 'video.generation.completed'
    | 'video.generation.failed'
    | 'video.generation.cancelled'
    | 'video.generation.expired';
  /** The id of the task. */
  id: string;
  /** Unix seconds. */
  created_at: number;
  /** The video task as returned by `GET /v1/videos/{id}`. */
  data: Record<string, unknown> & { id: string; status: 'completed' | 'failed' | 'cancelled' | 'expired' };
}

/** The request is not a webhook from the gateway. Respond with 400 and ignore it. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** `Headers` of fetch, or the headers of a request in Node. */
type ReceivedHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

/**
 * Verifies and parses a webhook. `body` must be the bytes as received, neither parsed nor decoded. Pass both secrets
 * during a rotation. Throws `WebhookError` if the signature matches none of the secrets.
 */
export function verifyWebhook(
  body: Uint8Array | string,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
): Webhook {
  const known = typeof secrets === 'string' ? [secrets] : secrets;
  const signatures = known.map((secret) => signatureOf(body, secret));
  if (matchesAny(headerOf(headers, SIGNATURE_HEADER), signatures)) return parse(body);
  throw new WebhookError(`The header ${SIGNATURE_HEADER} does not match the body.`);
}

function signatureOf(body: Uint8Array | string, secret: string): string {
  if (secret === '') throw new WebhookError('The webhook secret is empty.');
  return encodeSignature(createHmac('sha256', secret).update(body).digest());
}

function parse(body: Uint8Array | string): Webhook {
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch (cause) {
    throw new WebhookError('The body is not JSON.', { cause });
  }
}
