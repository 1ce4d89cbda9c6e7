/** Bodies that many clients get: kept with their ETag, and compressed once for each content coding. */

import { createHash } from 'node:crypto';
import type { Json } from '../core/json/json.ts';
import { type ContentCoding, codingFor, compress } from './content-coding.ts';
import type { HttpContext } from './request-context.ts';

export interface KeptBody {
  plain: Buffer;
  /** Digest, the same in all content codings. */
  version: string;
  compressed: Map<ContentCoding, Promise<Buffer | undefined>>;
}

export function createKeptBody(value: Json): KeptBody {
  const plain = Buffer.from(JSON.stringify(value));
  const version = createHash('sha256').update(plain).digest('base64url').slice(0, 27);
  return { plain, version, compressed: new Map() };
}

/** Most bytes of the bodies that are kept of one source, as they are before compression; a single one may have more. */
const MAX_KEPT_BYTES = 64 * 2 ** 20;

/** Bodies by source and name, each with the one that was asked for last at its end. */
const kept = new WeakMap<object, Map<string, KeptBody>>();

/** Body made of an immutable source, kept as long as that; those that were not asked for the longest make room for others. */
export function keptBody(source: object, name: string, make: () => Json): KeptBody {
  const bodies = kept.get(source) ?? new Map<string, KeptBody>();
  kept.set(source, bodies);
  const body = bodies.get(name) ?? createKeptBody(make());
  bodies.delete(name);
  bodies.set(name, body);
  let bytes = [...bodies.values()].reduce((sum, { plain }) => sum + plain.length, 0);
  for (const [other, { plain }] of bodies) {
    if (bytes <= MAX_KEPT_BYTES || other === name) break;
    bodies.delete(other);
    bytes -= plain.length;
  }
  return body;
}

/** Sends a body in the content coding that the client takes, or 304. */
export async function sendKept(
  context: Pick<HttpContext, 'request' | 'send'>,
  body: KeptBody,
  headers: Record<string, string>,
): Promise<void> {
  const { headers: asked } = context.request;
  const coding = codingFor(asked['accept-encoding'], body.plain.length);
  const common = { 'content-type': 'application/json', vary: 'accept-encoding', ...headers };
  if (matches(asked['if-none-match'], etagOf(body, coding))) {
    context.send({ status: 304, headers: { ...common, etag: etagOf(body, coding) } });
    return;
  }
  const compressed = coding && (await compressedOnce(body, coding));
  if (coding && compressed) {
    const coded = { ...common, etag: etagOf(body, coding), 'content-encoding': coding };
    context.send({ headers: coded, body: compressed });
  } else context.send({ headers: { ...common, etag: etagOf(body) }, body: body.plain });
}

function compressedOnce({ compressed, plain }: KeptBody, coding: ContentCoding): Promise<Buffer | undefined> {
  const known = compressed.get(coding);
  if (known) return known;
  const made = compress(coding, plain).then((bytes) => {
    if (!bytes) compressed.delete(coding);
    return bytes;
  });
  compressed.set(coding, made);
  return made;
}

/** Strong ETags differ between codings, because the bytes do. */
function etagOf({ version }: KeptBody, coding?: ContentCoding): string {
  return coding ? `"${version}-${coding}"` : `"${version}"`;
}

/** Weak comparison: a proxy that changes the coding makes ETags weak. */
function matches(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
