/**
 * Webhook verification for receivers: the package `@polygate/webhooks`, and the export `polygate/webhooks`. Depends on Node
 * only, its types on nothing.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';

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

const SIGNATURE_HEADER = 'x-service-signature';

/**
 * Verifies and parses a webhook. `body` must be the bytes as received, neither parsed nor decoded. Pass both secrets
 * during a rotation. Throws `WebhookError` if the signature matches none of the secrets.
 */
export function verifyWebhook(
  body: Uint8Array | string,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
): Webhook {
  const given = Buffer.from(headerOf(headers, SIGNATURE_HEADER) ?? '');
  const known = typeof secrets === 'string' ? [secrets] : secrets;
  // Compares all secrets, so that timing does not reveal which one matched.
  const matches = known.filter((secret) => isEqual(given, Buffer.from(signatureOf(body, secret))));
  if (matches.length === 0) throw new WebhookError(`The header ${SIGNATURE_HEADER} does not match the body.`);
  return parse(body);
}

function signatureOf(body: Uint8Array | string, secret: string): string {
  if (secret === '') throw new WebhookError('The webhook secret is empty.');
  return createHmac('sha256', secret).update(body).digest('base64url');
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function headerOf(headers: ReceivedHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof value === 'string' ? value : undefined;
}

function parse(body: Uint8Array | string): Webhook {
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch (cause) {
    throw new WebhookError('The body is not JSON.', { cause });
  }
}
