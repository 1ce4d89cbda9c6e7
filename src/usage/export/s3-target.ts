/** Exported objects in a bucket of an S3-compatible store that knows conditional writes. */

import { createHash } from 'node:crypto';
import { ByteCollector } from '../../core/byte-collector.ts';
import { GatewayError } from '../../core/errors.ts';
import { refusalOf, type S3Requests } from '../../net/s3-requests.ts';
import type { TrustedClient, TrustedResponse } from '../../net/trusted-client.ts';
import type { ExportTarget } from './target.ts';

const DEADLINE_MS = 120_000;
/** Maximum size of an object that is read: several times the size of one that is written. */
const MAX_OBJECT_BYTES = 256 * 1024 * 1024;
/** There is an object of that name, or another gateway writes one. */
const TAKEN = [409, 412];

export function createS3Target(requests: S3Requests, client: TrustedClient): ExportTarget {
  return {
    async create(name, bytes) {
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const { url, headers } = requests.sign({ method: 'PUT', name, sha256 });
      const sent = {
        'content-length': String(bytes.length),
        'content-type': 'application/x-ndjson',
        'if-none-match': '*',
      };
      const request = { method: 'PUT' as const, headers: { ...sent, ...headers }, body: bytes, deadline: DEADLINE_MS };
      const response = await client.request(url, request);
      const isDone = response.status >= 200 && response.status < 300;
      if (!isDone && !TAKEN.includes(response.status)) throw await storeError(response);
      response.close();
      return isDone;
    },
    async read(name) {
      const { url, headers } = requests.sign({ method: 'GET', name });
      const response = await client.request(url, { method: 'GET', headers, deadline: DEADLINE_MS });
      if (response.status === 404) {
        response.close();
        return undefined;
      }
      if (response.status !== 200) throw await storeError(response);
      const bytes = new ByteCollector();
      for await (const chunk of response.body) {
        bytes.add(chunk);
        if (bytes.size <= MAX_OBJECT_BYTES) continue;
        response.close();
        throw new GatewayError('unavailable', `The exported object ${name} is larger than ${MAX_OBJECT_BYTES} bytes.`);
      }
      return bytes.take().toString();
    },
    close: () => client.close(),
  };
}

async function storeError(response: TrustedResponse): Promise<GatewayError> {
  const message = `The object store for usage records answered with ${await refusalOf(response)}.`;
  return new GatewayError('unavailable', message);
}
