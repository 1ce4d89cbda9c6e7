/** A client that hears everything a gateway says of an answer's cost: headers, body, trailers, records. */

import { request as openRequest } from 'node:http';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, KEY, PATHS, type ProtocolId, question } from './harness.ts';

export interface Heard {
  status: number;
  headers: Record<string, string | undefined>;
  trailers: Record<string, string | undefined>;
  text: string;
  /** The id of its record. */
  id: string;
}

export interface Question {
  protocol: ProtocolId;
  model: string;
  text: string;
  stream?: boolean;
  key?: string;
  more?: Json;
}

export function headersWith(protocol: ProtocolId, key = KEY): Record<string, string> {
  const entries = Object.entries(HEADERS[protocol]).map(([name, value]) => [name, value.replace(KEY, key)]);
  return { 'content-type': 'application/json', ...Object.fromEntries(entries) };
}

export function hear(url: string, { protocol, model, text, stream = false, key, more }: Question): Promise<Heard> {
  const path = PATHS[protocol](model, stream);
  const usage = protocol === 'chat' && stream && { stream_options: { include_usage: true } };
  const body = JSON.stringify({ ...question(protocol, model, text, stream), ...usage, ...more });
  return new Promise((resolve, reject) => {
    const request = openRequest(url + path, { method: 'POST', headers: headersWith(protocol, key) }, (response) => {
      let heard = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        heard += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        const headers = response.headers as Heard['headers'];
        const id = String(headers['x-polygate-generation-id']);
        resolve({ status: response.statusCode ?? 0, headers, trailers: response.trailers, text: heard, id });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

export async function get(url: string, path: string, key = KEY): Promise<{ status: number; body: Json }> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: await response.json() };
}

/** The record of a request, once it stands: those of clients that left are written behind their back. */
export async function recordOf(url: string, id: string, key = KEY): Promise<Json> {
  for (;;) {
    const { status, body } = await get(url, `/v1/generation?id=${id}`, key);
    if (status === 200) return body.data;
    await new Promise(setImmediate);
  }
}
