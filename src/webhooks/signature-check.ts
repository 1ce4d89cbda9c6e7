/** Check of a received webhook that says which part of it is wrong. Runs in browsers, too: HMAC is that of WebCrypto. */

import { encodeSignature, type HeaderSource, headerOf, matchesAny, SIGNATURE_HEADER } from './verification.ts';

/** A webhook as its receiver got it. */
export interface ReceivedWebhook {
  body: string;
  headers: HeaderSource;
  /** Signing secrets as displayed, the current one first. */
  secrets: readonly string[];
  /** The body that was sent, where it is known. */
  sentBody?: string | undefined;
  /** Unix milliseconds. */
  now: number;
}

export interface SignatureVerdict {
  state: 'valid' | 'invalid' | 'absent';
  /** Cause of an invalid verdict. */
  part?: 'body' | 'secret' | 'header' | 'timestamp';
  message: string;
}

export interface SignatureCheck {
  /** Verdict on `x-service-signature`. */
  service: SignatureVerdict;
  /** Verdict on the headers of Standard Webhooks. */
  standard: SignatureVerdict;
}

type Bytes = Uint8Array<ArrayBuffer>;
type Algorithm = (secret: string, body: string) => Promise<string | undefined>;

const SECRET_PREFIX = 'whsec_';
/** Age that Standard Webhooks allows. */
const MAX_AGE_S = 300;
const encoder = new TextEncoder();

export async function checkSignature(received: ReceivedWebhook): Promise<SignatureCheck> {
  return { service: await checkService(received), standard: await checkStandard(received) };
}

async function checkService(received: ReceivedWebhook): Promise<SignatureVerdict> {
  const given = headerOf(received.headers, SIGNATURE_HEADER);
  if (given === undefined) return absent(`The header ${SIGNATURE_HEADER} is missing.`);
  const sign: Algorithm = async (secret, body) => encodeSignature(await hmac(encoder.encode(secret), body));
  const found = await judge(given, received, sign);
  if (found) return found;
  const spelled = given
    .trim()
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '');
  if (spelled !== given && (await matches(spelled, received, sign))) {
    const how = given.includes('=') ? 'it is padded with =' : 'it is in base64 or has spaces';
    return invalid(
      'header',
      `The signature is right and spelled wrong: it must be base64url without padding, and ${how}.`,
    );
  }
  const asHex: Algorithm = async (secret, body) => hexOf(await hmac(encoder.encode(secret), body));
  if (await matches(given.toLowerCase(), received, asHex)) {
    return invalid('header', 'The signature is right and spelled wrong: it is hexadecimal, and must be base64url.');
  }
  const decoded: Algorithm = async (secret, body) => {
    const key = keyOf(secret);
    return key && encodeSignature(await hmac(key, body));
  };
  if (await matches(given, received, decoded)) {
    return invalid(
      'secret',
      'The secret was decoded before it was used: this header is keyed with the secret as shown, whsec_ included.',
    );
  }
  return explainMismatch(received, sign, given);
}

async function checkStandard(received: ReceivedWebhook): Promise<SignatureVerdict> {
  const [id, timestamp, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(received.headers, name),
  );
  if (id === undefined && timestamp === undefined && given === undefined) {
    return absent('There are no headers of Standard Webhooks; callbacks.standard_headers may leave them out.');
  }
  for (const [name, value] of Object.entries({ id, timestamp, signature: given })) {
    if (value === undefined) return invalid('header', `The header webhook-${name} is missing.`);
  }
  const sign: Algorithm = async (secret, body) => {
    const key = keyOf(secret);
    return key && `v1,${base64Of(await hmac(key, `${id}.${timestamp}.${body}`))}`;
  };
  const signatures = (given ?? '').split(' ');
  for (const signature of signatures) {
    const found = await judge(signature, received, sign);
    if (found?.state === 'valid') return checkAge(Number(timestamp), received.now) ?? found;
    if (found) return found;
  }
  const padded = signatures.map((signature) => signature.replaceAll('-', '+').replaceAll('_', '/').padEnd(47, '='));
  for (const signature of padded) {
    if (signatures.includes(signature) || !(await matches(signature, received, sign))) continue;
    return invalid('header', 'The signature is right and spelled wrong: it must be base64 with padding.');
  }
  const asShown: Algorithm = async (secret, body) =>
    `v1,${base64Of(await hmac(encoder.encode(secret), `${id}.${timestamp}.${body}`))}`;
  for (const signature of signatures) {
    if (!(await matches(signature, received, asShown))) continue;
    return invalid(
      'secret',
      'The secret was used as shown: these headers are keyed with the bytes that stand in base64 after whsec_.',
    );
  }
  return explainMismatch(received, sign, ...signatures);
}

/** Verdict on a signature that one of the secrets explains; undefined without one. */
async function judge(
  given: string,
  { body, secrets }: ReceivedWebhook,
  sign: Algorithm,
): Promise<SignatureVerdict | undefined> {
  for (const [index, secret] of secrets.entries()) {
    const signature = await sign(secret, body);
    if (signature === undefined || !matchesAny(given, [signature])) continue;
    const message =
      index === 0
        ? 'The signature is right.'
        : `The signature is right, by secret ${index + 1} of those given: the secret is being rotated, or was.`;
    return { state: 'valid', message };
  }
  return undefined;
}

async function matches(given: string, { body, secrets }: ReceivedWebhook, sign: Algorithm): Promise<boolean> {
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, body)));
  return matchesAny(
    given,
    signatures.filter((signature) => signature !== undefined),
  );
}

/** Looks for another form of the body or of the secret that explains the signatures. */
async function explainMismatch(
  received: ReceivedWebhook,
  sign: Algorithm,
  ...given: string[]
): Promise<SignatureVerdict> {
  const fits = async (changed: Partial<ReceivedWebhook>) => {
    for (const one of given) if (await matches(one, { ...received, ...changed }, sign)) return true;
    return false;
  };
  const trimmed = received.secrets.map((secret) => secret.trim().replace(/^["']|["']$/g, ''));
  if (await fits({ secrets: trimmed })) return invalid('secret', 'The secret has spaces or quotes around it.');
  const prefixed = trimmed.map((secret) => (secret.startsWith(SECRET_PREFIX) ? secret : SECRET_PREFIX + secret));
  if (await fits({ secrets: prefixed }))
    return invalid('secret', `The secret lacks ${SECRET_PREFIX} at its beginning.`);
  for (const [change, body] of otherForms(received.body)) {
    if (await fits({ body }))
      return invalid(
        'body',
        `The body was altered: ${change}. Verify the bytes as they arrived, before anything parses them.`,
      );
  }
  if (received.sentBody !== undefined) {
    if (await fits({ body: received.sentBody })) {
      return invalid(
        'body',
        `The body was altered: it differs from what was sent at character ${differenceOf(received.body, received.sentBody)}.`,
      );
    }
    if (received.body === received.sentBody) {
      return invalid(
        'secret',
        'The body is the one that was sent, so the secret is another one, such as that of before a rotation, or the header was altered.',
      );
    }
  }
  const length = Number(headerOf(received.headers, 'content-length') ?? Number.NaN);
  const bytes = encoder.encode(received.body).length;
  if (Number.isInteger(length) && length !== bytes) {
    return invalid('body', `The body was altered: it has ${bytes} bytes, and content-length says ${length}.`);
  }
  return invalid(
    'secret',
    'No secret given explains the signature: it is that of another key or of before a rotation, or the body was altered.',
  );
}

/** Sent bodies that a receiver may have changed to the received one. */
function otherForms(body: string): [change: string, body: string][] {
  const forms: [string, string][] = [
    ['spaces or line ends were added around it', body.trim()],
    ['line ends were changed to CR LF', body.replaceAll('\r\n', '\n')],
  ];
  try {
    forms.push(['its JSON was parsed and written again', JSON.stringify(JSON.parse(body))]);
  } catch {
    // Not JSON, which its signature says as well.
  }
  return forms.filter(([, form]) => form !== body);
}

function checkAge(timestamp: number, now: number): SignatureVerdict | undefined {
  const age = Math.floor(now / 1000) - timestamp;
  if (!(Math.abs(age) > MAX_AGE_S)) return undefined;
  const relation = age > 0 ? `${age} s old` : `${-age} s in the future`;
  return invalid(
    'timestamp',
    `The signature is right, and webhook-timestamp is ${relation}; receivers accept ${MAX_AGE_S} s.`,
  );
}

function differenceOf(one: string, other: string): number {
  let index = 0;
  while (index < one.length && one[index] === other[index]) index++;
  return index + 1;
}

/** Bytes that stand in base64 after the prefix; undefined if it is no base64. */
function keyOf(secret: string): Bytes | undefined {
  if (!secret.startsWith(SECRET_PREFIX)) return encoder.encode(secret);
  const text = secret.slice(SECRET_PREFIX.length).replaceAll('-', '+').replaceAll('_', '/');
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

async function hmac(key: Bytes, text: string): Promise<Bytes> {
  // An empty key is none for WebCrypto.
  const raw = key.length === 0 ? new Uint8Array(1) : key;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', raw, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)));
}

function base64Of(digest: Bytes): string {
  return btoa(String.fromCharCode(...digest));
}

function hexOf(digest: Bytes): string {
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function absent(message: string): SignatureVerdict {
  return { state: 'absent', part: 'header', message };
}

function invalid(part: NonNullable<SignatureVerdict['part']>, message: string): SignatureVerdict {
  return { state: 'invalid', part, message };
}
