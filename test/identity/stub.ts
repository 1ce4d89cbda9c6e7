/** Token endpoint or metadata server on loopback that counts what it is asked, and fails when a test says so. */

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StubCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** Members of a form; empty for another body. */
  form: Record<string, string>;
}

export interface StubAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** Text, or an object as JSON. */
  body?: string | object;
}

export interface Stub {
  url: string;
  calls: StubCall[];
  /** `silent` never answers; `garbage` answers with bytes that mean nothing, `endless` with too many. */
  mode: 'well' | 'failing' | 'silent' | 'garbage' | 'endless';
  close(): Promise<void>;
}

const SECRET_IN_ERRORS = 'stub-error-with-PLANTED-SECRET';

export async function startStub(answer: (call: StubCall) => StubAnswer | Promise<StubAnswer>): Promise<Stub> {
  const calls: StubCall[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { method = '', url: path = '', headers } = request;
    const isForm = String(headers['content-type']).includes('x-www-form-urlencoded');
    const call = { method, path, headers, text, form: isForm ? Object.fromEntries(new URLSearchParams(text)) : {} };
    calls.push(call);
    switch (stub.mode) {
      case 'silent':
        return;
      case 'garbage':
        return void response.end('\u0000<html>{"');
      case 'endless':
        return void response.end('x'.repeat(1024 * 1024));
      case 'failing':
        return void response.writeHead(500).end(JSON.stringify({ error: SECRET_IN_ERRORS }));
      default: {
        const { status = 200, headers: own, body = '' } = await answer(call);
        response.writeHead(status, own).end(typeof body === 'string' ? body : JSON.stringify(body));
      }
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stub: Stub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    mode: 'well',
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return stub;
}
