/** Content codings of responses (RFC 9110, 8.4 and 12.5.3): which one a client gets, and compression away from the main thread. */

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Json } from '../core/json/json.ts';
import type { HttpContext } from './request-context.ts';

export type ContentCoding = 'br' | 'gzip';

/** Best first. */
export const CODINGS: readonly ContentCoding[] = ['br', 'gzip'];
/** Smaller bodies fit into a packet, so that compressing them saves nothing. */
const MIN_COMPRESSED_BYTES = 1024;
/** Longer headers are not read. */
const MAX_HEADER_CHARACTERS = 1000;
const WEIGHT = /^\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i;

/**
 * Coding that a client prefers among those that are offered; of equal weights the first one. Undefined where the body is to be
 * sent as it is. Codings that the client does not name are not used, also where it takes any (`*`).
 */
export function chooseCoding(accepted: string | undefined, offered = CODINGS): ContentCoding | undefined {
  if (!accepted || accepted.length > MAX_HEADER_CHARACTERS) return undefined;
  const weights = new Map<string, number>();
  for (const part of accepted.split(',')) {
    const [name = '', ...parameters] = part.split(';');
    weights.set(name.trim().toLowerCase(), weightOf(parameters));
  }
  let chosen: ContentCoding | undefined;
  let highest = weights.get('identity') ?? 0;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? 0;
    if (weight === 0 || (chosen ? weight <= highest : weight < highest)) continue;
    chosen = coding;
    highest = weight;
  }
  return chosen;
}

/** A parameter that is no weight refuses the coding. */
function weightOf(parameters: readonly string[]): number {
  if (parameters.length === 0) return 1;
  return parameters.length === 1 ? Number(WEIGHT.exec(parameters[0] ?? '')?.[1] ?? 0) : 0;
}

/** Coding in which a client gets a body of this size. */
export function codingFor(accepted: string | undefined, bytes: number): ContentCoding | undefined {
  return bytes < MIN_COMPRESSED_BYTES ? undefined : chooseCoding(accepted);
}

const gzipped = promisify(gzip);
const brotliCompressed = promisify(brotliCompress);
/** Output is made in pieces of this size, each of which is an event of the main thread. */
const PIECE_BYTES = 64 * 1024;
/** The default takes a hundred times as long, to save a third. */
const BROTLI_QUALITY = 5;

function compressedWith(coding: ContentCoding, body: Buffer): Promise<Buffer> {
  if (coding === 'gzip') return gzipped(body, { chunkSize: PIECE_BYTES });
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: body.length };
  return brotliCompressed(body, { chunkSize: PIECE_BYTES, params });
}

/** Compressions that wait, the one that runs included. */
const MAX_WAITING = 32;
let waiting = 0;
let newest: Promise<unknown> = Promise.resolve();

/**
 * Compresses one body after the other, because the few threads that do it write the files of the store, too. Undefined while
 * too many wait, and after a failure: the body is then sent as it is.
 */
export async function compress(coding: ContentCoding, body: Buffer): Promise<Buffer | undefined> {
  if (waiting >= MAX_WAITING) return undefined;
  waiting += 1;
  const compressed = newest
    .then(() => compressedWith(coding, body))
    .catch(() => undefined)
    .finally(() => {
      waiting -= 1;
    });
  newest = compressed;
  return compressed;
}

/** Sends JSON that is compressed for this response alone, where the client takes that. */
export async function sendCompressed(
  context: Pick<HttpContext, 'request' | 'send'>,
  headers: Record<string, string>,
  value: Json,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(value));
  const coding = codingFor(context.request.headers['accept-encoding'], body.length);
  const compressed = coding && (await compress(coding, body));
  const common = { 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding', ...headers };
  if (coding && compressed) context.send({ headers: { ...common, 'content-encoding': coding }, body: compressed });
  else context.send({ headers: common, body });
}
