/** Reach of a provider: the URL and the headers of a request, without sending it. */

import { customModel } from '../../src/catalog/bundled.ts';
import type { CredentialValue } from '../../src/core/credential.ts';
import { NO_CREDENTIAL } from '../../src/core/credential.ts';
import type { Provider } from '../../src/core/provider.ts';
import { providerTypes } from '../../src/providers/index.ts';

export const ANY_MODEL = customModel('mine', { id: 'some-model' });

export function baseUrlOf({ platform }: Provider): string {
  return platform.url({ type: 'models', path: '' });
}

export function videoUrlOf({ platform }: Provider, path: string): string {
  return platform.url({ type: 'video', path });
}

/** The credential that a provider's type reads in a configured key. */
export function credentialOf(type: string, key: string | undefined): CredentialValue {
  if (key === undefined) return NO_CREDENTIAL;
  return providerTypes.get(type)?.readKey?.(key) ?? { type: 'key', key };
}

export async function headersOf(
  { platform }: Provider,
  credential: CredentialValue,
  now = Date.now(),
): Promise<Record<string, string>> {
  const request = { method: 'POST', url: platform.url({ type: 'video', path: '/' }), headers: {} } as const;
  return (await platform.authorize(request, credential, now)).headers;
}
