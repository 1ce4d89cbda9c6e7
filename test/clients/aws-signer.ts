/** Signatures of AWS as the vendor's own package makes them. */

import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';

export interface SignedCall {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  bytes: Buffer;
}

export interface SigningKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** The header `authorization` that a call should have. */
export async function authorizationOfVendor(
  { method, path, headers, bytes }: SignedCall,
  credentials: SigningKeys,
  { region, service }: { region: string; service: string },
): Promise<string | undefined> {
  const options = { credentials, region, service, sha256: Sha256 as never, applyChecksum: false };
  const date = String(headers['x-amz-date']);
  const signingDate = new Date(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const host = String(headers.host);
  const { hostname, port } = new URL(`http://${host}`);
  const address = { method, protocol: 'http:', hostname, port: Number(port), path, query: {}, body: bytes };
  const request = { ...address, headers: { host, 'x-amz-date': date } };
  return (await new SignatureV4(options).sign(request, { signingDate })).headers.authorization;
}

/** For the vendor's signer. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | Uint8Array) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret);
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}
