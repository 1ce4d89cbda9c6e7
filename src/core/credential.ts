/** Credential values: API keys, key pairs and access tokens that authenticate at an upstream. */

const MASK = '*'.charCodeAt(0);
/** Shorter values occur in any text. */
const MIN_SECRET_CHARACTERS = 6;
/** Shorter credentials, such as `ollama`, are words that errors have. */
const MIN_KEY_CHARACTERS = 16;
/** Length from which the rest of a cut secret is masked; fewer bytes reveal nothing. */
const MIN_CUT_BYTES = 4;
/** The same for the beginning of a key in an error: fewer characters are in words of any end. */
const MIN_CUT_KEY_BYTES = 8;

export type CredentialValue =
  | SentCredential
  | { readonly type: 'token'; readonly source: TokenSource }
  | { readonly type: 'renewed'; readonly source: CredentialSource };

/** A credential as one request carries it. */
export type SentCredential =
  | { readonly type: 'none' }
  | { readonly type: 'key'; readonly key: string }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | ({ readonly type: 'key-pair' } & KeyPair);

export interface KeyPair {
  /** The public key id, which identifies the account. */
  readonly id: string;
  readonly secret: string;
  /** Session token; only with temporary keys. */
  readonly sessionToken?: string;
}

/** An access token that expires and is renewed by the gateway. */
export interface TokenSource {
  /** Identifies the account; contains no secret. */
  readonly id: string;
  /** Returns synchronously while a token is valid. Rejects with a GatewayError if no token can be obtained. */
  token(): string | Promise<string>;
  /**
   * Reports that the upstream refused the account. Returns true if the token may be the cause; it is then discarded.
   * `sentAt`: Unix milliseconds when the refused request was authorized; now if absent.
   */
  refused(sentAt?: number): boolean;
}

/** A credential of an identity at a cloud platform that expires and is renewed by the gateway, such as a temporary key pair. */
export interface CredentialSource extends Pick<TokenSource, 'id' | 'refused'> {
  /** Returns synchronously while a credential is valid. Rejects with a GatewayError if none can be obtained. */
  current(): SentCredential | Promise<SentCredential>;
  /** Reports a refusal that may be one of a permission: the credential is renewed, and serves until then. */
  doubted(): void;
}

/** Identity at a cloud platform. */
export interface Identity {
  readonly source: Omit<CredentialSource, 'id'>;
  status(): IdentityStatus;
}

export interface IdentityStatus {
  /** Where its credentials come from, e.g. `web identity`; absent if nothing was found. */
  name?: string;
  /** Reason for which there are none. */
  problem?: string;
}

/** Vendors of cloud platforms whose identities a provider type can use. */
export type IdentityVendor = 'aws' | 'google' | 'azure';

export const NO_CREDENTIAL: CredentialValue = { type: 'none' };

export function keyCredential(key: string): CredentialValue {
  return { type: 'key', key };
}

/** A token is in the headers that its authorization has set. */
export function textsOfCredential(value: CredentialValue): string[] {
  switch (value.type) {
    case 'key':
      return [value.key];
    case 'key-pair':
      return [value.id, value.secret, value.sessionToken ?? ''];
    case 'headers':
      return Object.values(value.headers);
    default:
      return [];
  }
}

/** Texts in which the values of headers can occur: as they are, without their scheme, and escaped. */
export function secretsOf(values: readonly string[]): Buffer[] {
  const texts = new Set<string>();
  for (const value of values) {
    const bare = value.slice(value.indexOf(' ') + 1);
    for (const text of [value, bare]) {
      for (const form of [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]) {
        if (form.length >= MIN_SECRET_CHARACTERS) texts.add(form);
      }
    }
  }
  return [...texts].toSorted((one, other) => other.length - one.length).map((text) => Buffer.from(text));
}

/** Overwrites each secret, in place, so that offsets stay as they are. Returns whether there was one. */
export function maskSecrets(bytes: Buffer, secrets: readonly Buffer[]): boolean {
  let hasMasked = false;
  for (const secret of secrets) {
    for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, at + secret.length)) {
      bytes.fill(MASK, at, at + secret.length);
      hasMasked = true;
    }
  }
  return hasMasked;
}

/** Overwrites the beginning of a secret, of so many bytes at least, at the end of bytes that were cut. Returns whether there was one. */
export function maskCutSecret(bytes: Buffer, secrets: readonly Buffer[], minBytes = MIN_CUT_BYTES): boolean {
  let hasMasked = false;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, bytes.length); length >= minBytes; length--) {
      if (!bytes.subarray(bytes.length - length).equals(secret.subarray(0, length))) continue;
      bytes.fill(MASK, bytes.length - length);
      hasMasked = true;
      break;
    }
  }
  return hasMasked;
}

/**
 * Words of an upstream without the key that it was asked with, whatever its form, also where they were cut within it. Tokens, which
 * end soon, are not looked for.
 */
export function withoutKey(text: string, credential: CredentialValue): string {
  const secrets = secretsOf(keysOf(credential));
  const bytes = Buffer.from(text);
  const hasWhole = maskSecrets(bytes, secrets);
  const hasCut = maskCutSecret(bytes, secrets, MIN_CUT_KEY_BYTES);
  return hasWhole || hasCut ? bytes.toString() : text;
}

/** Whether a body of an upstream has the key that it was asked with, in any form. */
export function hasKey(body: Buffer, credential: CredentialValue): boolean {
  return secretsOf(keysOf(credential)).some((secret) => body.includes(secret));
}

/** Keys that are told from the words of a text. */
export function keysOf(credential: CredentialValue): string[] {
  return textsOfCredential(credential).filter(({ length }) => length >= MIN_KEY_CHARACTERS);
}
