/** Credential values: API keys, key pairs and access tokens that authenticate at an upstream. */

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
