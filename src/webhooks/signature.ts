/** Webhook signature headers: HMAC signatures and the idempotency key. */

import { createHmac } from 'node:crypto';

export interface SigningSecrets {
  /** The current secret. */
  current: string;
  /** The next secret during a rotation: Standard Webhooks signatures are sent for both. */
  next?: string;
}

export interface WebhookMessage {
  /** The idempotency key. */
  id: string;
  body: Uint8Array;
  /** Unix milliseconds. */
  sentAt: number;
}

const SECRET_PREFIX = 'whsec_';

/** `X-Service-Signature`: HMAC-SHA256 of the body, keyed with the secret as displayed. */
function signatureOf(body: Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('base64url');
}

/** Standard Webhooks signature: HMAC-SHA256 of id, timestamp and body, keyed with the decoded bytes of the secret. */
function standardSignatureOf({ id, body, sentAt }: WebhookMessage, secret: string): string {
  const key = secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret);
  const signed = createHmac('sha256', key)
    .update(`${id}.${seconds(sentAt)}.`)
    .update(body);
  return `v1,${signed.digest('base64')}`;
}

/** Headers of a webhook; `standard` adds those of Standard Webhooks. */
export function signatureHeaders(
  message: WebhookMessage,
  signingSecrets: SigningSecrets,
  standard: boolean,
): Record<string, string> {
  const secrets = [signingSecrets.current, ...(signingSecrets.next === undefined ? [] : [signingSecrets.next])];
  return {
    'Content-Type': 'application/json',
    'X-Service-Idempotency-Key': message.id,
    'X-Service-Signature': signatureOf(message.body, signingSecrets.current),
    ...(standard && {
      'webhook-id': message.id,
      'webhook-timestamp': String(seconds(message.sentAt)),
      'webhook-signature': secrets.map((secret) => standardSignatureOf(message, secret)).join(' '),
    }),
  };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
