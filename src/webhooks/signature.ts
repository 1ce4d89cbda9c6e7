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

/** Standard Webhooks signatures: HMAC-SHA256 of id, timestamp and body, with each key of the secret. */
function standardSignaturesOf({ id, body, sentAt }: WebhookMessage, secret: string): string[] {
  return standardKeysOf(secret).map((key) => {
    const signed = createHmac('sha256', key)
      .update(`${id}.${seconds(sentAt)}.`)
      .update(body);
    return `v1,${signed.digest('base64')}`;
  });
}

/** The decoded bytes of the secret; without the prefix its characters, too, because libraries differ there. */
function standardKeysOf(secret: string): Buffer[] {
  if (secret.startsWith(SECRET_PREFIX)) return [Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')];
  const decoded = Buffer.from(secret, 'base64');
  return [Buffer.from(secret), ...(decoded.toString('base64') === secret ? [decoded] : [])];
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
      'webhook-signature': secrets.flatMap((secret) => standardSignaturesOf(message, secret)).join(' '),
    }),
  };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
