/** Credential values: what an upstream is shown so that it knows the account. */

export type CredentialValue =
  | { readonly type: 'none' }
  | { readonly type: 'key'; readonly key: string }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | ({ readonly type: 'key-pair' } & KeyPair)
  | { readonly type: 'token'; readonly source: TokenSource };

export interface KeyPair {
  /** The public half, which names the account. */
  readonly id: string;
  readonly secret: string;
  /** Goes along with temporary keys. */
  readonly sessionToken?: string;
}

/** An access token that expires and is renewed by the gateway. */
export interface TokenSource {
  /** Names the account without a secret. */
  readonly id: string;
  /** Without waiting while a token is valid. Rejects with a GatewayError when none can be had. */
  token(): string | Promise<string>;
  /** The upstream refused the account. True when that may be due to the token, which then is not given again. */
  refused(): boolean;
}

export const NO_CREDENTIAL: CredentialValue = { type: 'none' };

export function keyCredential(key: string): CredentialValue {
  return { type: 'key', key };
}
