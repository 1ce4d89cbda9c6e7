/** Credential values: API keys, key pairs and access tokens that authenticate at an upstream. */

export type CredentialValue =
  | { readonly type: 'none' }
  | { readonly type: 'key'; readonly key: string }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | ({ readonly type: 'key-pair' } & KeyPair)
  | { readonly type: 'token'; readonly source: TokenSource };

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
  /** Reports that the upstream refused the account. Returns true if the token may be the cause; it is then discarded. */
  refused(): boolean;
}

export const NO_CREDENTIAL: CredentialValue = { type: 'none' };

export function keyCredential(key: string): CredentialValue {
  return { type: 'key', key };
}
