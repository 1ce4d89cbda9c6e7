/** The headers by which a receiver knows who sent a webhook, and that it has not had it before. */

import { createHmac } from 'node:crypto';

export interface SigningSecrets {
  /** What signs now. */
  current: string;
  /** What will sign soon: receivers that know lists of signatures can switch already. */
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

/** The service's own signature: over the body alone, keyed with the secret as it is shown. */
export function signatureOf(body: Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('base64url');
}

/** That of Standard Webhooks: over id, time and body, keyed with the bytes that the secret encodes. */
export function standardSignatureOf({ id, body, sentAt }: WebhookMessage, secret: string): string {
  const key = secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret);
  const signed = createHmac('sha256', key)
    .update(`${id}.${seconds(sentAt)}.`)
    .update(body);
  return `v1,${signed.digest('base64')}`;
}

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
