/** A client of the admin API of a gateway under test. */

import type { Json } from '../../src/core/json/json.ts';
import { sendRaw } from './harness.ts';

export const ADMIN_TOKEN = 'admin-token-0123456789-0123456789';
export const ADMIN_CONFIG = `admin: { token: ${ADMIN_TOKEN}, port: 0 }\n`;

export interface AdminAnswer {
  status: number;
  body: Json;
}

/** Sends a request to `/admin/v1` and reads the JSON of the response. */
export async function askAdmin(adminUrl: string, method: string, path: string, body?: Json): Promise<AdminAnswer> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_TOKEN}` };
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await sendRaw(adminUrl, { method, path: `/admin/v1${path}`, headers, body: text });
  return { status: response.status, body: response.text === '' ? undefined : JSON.parse(response.text) };
}
