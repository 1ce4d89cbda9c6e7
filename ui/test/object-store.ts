/** An object store that several gateways keep videos in: objects in memory, over the part of the S3 protocol that is used. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ObjectStore {
  url: string;
  close(): Promise<void>;
}

export async function startObjectStore(): Promise<ObjectStore> {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => answer(objects, request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function answer(objects: Map<string, Buffer>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '/', headers } = request;
  const name = new URL(url, 'http://store').pathname;
  const bytes = await buffer(request);
  if (method === 'PUT') objects.set(name, bytes);
  if (method === 'DELETE') objects.delete(name);
  const object = objects.get(name);
  if (method !== 'GET' && method !== 'HEAD') return void response.writeHead(200).end();
  if (!object) return void response.writeHead(404).end();
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (first === undefined) return send(response, 200, object, {});
  const part = object.subarray(Number(first), last ? Number(last) + 1 : undefined);
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${object.length}`;
  return send(response, 206, part, { 'content-range': range });
}

function send(response: ServerResponse, status: number, bytes: Buffer, headers: Record<string, string>): void {
  response.writeHead(status, { 'content-length': bytes.length, 'content-type': 'video/mp4', ...headers }).end(bytes);
}
