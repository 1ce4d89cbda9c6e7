/** The official SDK of the generateContent protocol in three majors, which differ in the version their paths begin with. */

import { ApiError, GoogleGenAI } from '@google/genai';
import { ApiError as ApiError1, GoogleGenAI as GoogleGenAI1 } from 'genai-1';
import { ApiError as ApiError2, GoogleGenAI as GoogleGenAI2 } from 'genai-2';
import type { GatewayProcess } from './gateway-process.ts';

/** The majors differ in types alone as far as these tests go. */
const VERSIONS = {
  'genai 3': GoogleGenAI,
  'genai 2': GoogleGenAI2 as unknown as typeof GoogleGenAI,
  'genai 1': GoogleGenAI1 as unknown as typeof GoogleGenAI,
};

export function genaiClients(gateway: () => Pick<GatewayProcess, 'url' | 'key'>): Record<string, () => GoogleGenAI> {
  const connect = (Client: typeof GoogleGenAI) => () => connectTo(Client, gateway().url, gateway().key);
  return Object.fromEntries(Object.entries(VERSIONS).map(([name, Client]) => [name, connect(Client)]));
}

/** A client of the same version with another key. */
export function withKey(client: GoogleGenAI, url: string, apiKey: string): GoogleGenAI {
  return connectTo(client.constructor as typeof GoogleGenAI, url, apiKey);
}

function connectTo(Client: typeof GoogleGenAI, url: string, apiKey: string): GoogleGenAI {
  return new Client({ apiKey, httpOptions: { baseUrl: `${url}/gemini` } });
}

/** Every version has an error class of its own. */
export function isApiError(error: unknown): error is ApiError {
  return [ApiError, ApiError1, ApiError2].some((Class) => error instanceof Class);
}
