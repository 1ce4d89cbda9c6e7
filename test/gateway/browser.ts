/** A browser's requests to the dashboard: its cookie, and the headers that its own pages send. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';
import { type RawResponse, sendRaw } from './harness.ts';

export interface BrowserRequest {
  body?: Json;
  /** Over those that a page of the dashboard sends; undefined removes one. */
  headers?: Record<string, string | undefined>;
}

export interface Browser {
  /** `name=value`, empty before a login. */
  cookie: string;
  send(method: string, path: string, request?: BrowserRequest): Promise<RawResponse & { json: Json }>;
  /** Keeps the cookie of a session that is opened. */
  login(text: Json): Promise<RawResponse & { json: Json }>;
}

export function openBrowser(url: string, origin = url): Browser {
  const browser: Browser = {
    cookie: '',
    async send(method, path, { body, headers = {} } = {}) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const own = {
        host: new URL(origin).host,
        'sec-fetch-site': 'same-origin',
        ...(browser.cookie !== '' && { cookie: browser.cookie }),
        ...(method !== 'GET' && { origin, 'x-polygate-ui': '1' }),
        ...(text !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        }),
        ...headers,
      };
      const sent = Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
      const response = await sendRaw(url, { method, path, headers: Object.fromEntries(sent), body: text });
      const isJson = response.headers['content-type']?.startsWith('application/json');
      return { ...response, json: isJson ? JSON.parse(response.text) : undefined };
    },
    async login(text) {
      const response = await browser.send('POST', '/ui/session', { body: text });
      const [set = ''] = response.headers['set-cookie'] ?? [];
      if (response.status === 201) {
        assert.match(set, /; HttpOnly; SameSite=Strict/);
        browser.cookie = set.split(';', 1)[0] as string;
      }
      return response;
    },
  };
  return browser;
}
