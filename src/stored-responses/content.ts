/** Contents of stored responses: JSON, encrypted, with large parts apart so that equal ones are stored once. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';
import { type Json, read } from '../core/json/json.ts';
import { readInSlices } from '../core/json/slices.ts';
import { needsSlices, writeInSlices } from '../core/json/write-slices.ts';
import type { StoredPart, StoredResponse } from '../records/stored-response.ts';
import type { Cipher, CiphertextLocation } from '../security/cipher.ts';

/** The part of a response that is kept. */
export interface StoredContent {
  /** Owner of opaque state in the output. */
  origin: string;
  /** The output is as its upstream sent it. */
  isRelayed: boolean;
  /** Items of the request itself; references are not resolved. */
  input: Json[];
  output: Json[];
  /** The response object without its output. */
  response: Record<string, Json>;
  /** Names of dropped members of a background response and its request, as in the header `x-polygate-dropped` of other responses. */
  dropped?: string | undefined;
  /** Request of a background response that is not finished. */
  request?: StoredRequest;
}

/** A request that waits: its body without the input, and the headers that it needs. */
export interface StoredRequest {
  body: Json;
  headers: Record<string, string>;
}

export interface EncodedContent {
  content: Uint8Array;
  parts: StoredPart[];
  items: number;
  wholeBytes: number;
}

/** Size from which a value is a part: tools, instructions, results of tools and pictures are often sent again. */
const PART_BYTES = 4 * 1024;
/** Maximum size of a content with its parts. */
const MAX_CONTENT_BYTES = 20 * 1024 * 1024;
/** Bytes between two yields to the event loop. */
const SLICE_BYTES = 512 * 1024;

type Place = Pick<StoredResponse, 'owner' | 'row'>;

/** Throws `payload_too_large`. */
export async function encodeContent(
  { origin, isRelayed, input, output, response, dropped, request }: StoredContent,
  cipher: Cipher,
  { owner, row }: Place,
): Promise<EncodedContent> {
  const { slot, sealed } = createSlots(cipher, owner);

  async function slots(values: Json[]): Promise<string> {
    const texts: string[] = [];
    for (const value of values) {
      const written = slot(value);
      texts.push(typeof written === 'string' ? written : await written);
    }
    return `[${texts.join(',')}]`;
  }

  const members: string[] = [];
  for (const [name, value] of Object.entries(response)) {
    if (value === undefined) continue;
    const written = slot(value);
    members.push(`${JSON.stringify(name)}:${typeof written === 'string' ? written : await written}`);
  }
  const text = `{"v":1,"origin":${JSON.stringify(origin)},"relayed":${isRelayed},"input":${await slots(input)},"output":${await slots(output)},"response":{${members.join(',')}}${dropped === undefined ? '' : `,"dropped":${JSON.stringify(dropped)}`}${request ? `,"request":${await slot(request as unknown as Json)}` : ''}}`;
  return {
    content: cipher.seal(Buffer.from(text), contentLocation(row)),
    parts: [...sealed.parts.values()],
    items: input.length + output.length,
    wholeBytes: sealed.bytes,
  };
}

/** Writer of values, of which large ones become parts. */
export interface SlotWriter {
  /** A value in brackets, or the digest of a part; at once for a small value. Throws `payload_too_large`. */
  slot(value: Json): string | Promise<string>;
  readonly sealed: {
    /** By their digests. */
    readonly parts: ReadonlyMap<string, StoredPart>;
    /** Size of all values so far. */
    readonly bytes: number;
  };
}

export function createSlots(cipher: Cipher, owner: string): SlotWriter {
  const parts = new Map<string, StoredPart>();
  const sealed = { parts, bytes: 0 };
  let slice = 0;

  function slot(value: Json): string | Promise<string> {
    if (needsSlices(value)) return writeInSlices(value).then(largeSlot);
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes >= PART_BYTES || slice + bytes > SLICE_BYTES) return largeSlot(Buffer.from(text));
    count(bytes);
    return `[${text}]`;
  }

  async function largeSlot(bytes: Buffer): Promise<string> {
    count(bytes.length);
    if (slice > SLICE_BYTES) {
      slice = 0;
      await yieldToEventLoop();
    }
    if (bytes.length < PART_BYTES) return `[${bytes.toString()}]`;
    const digesting = cipher.startDigest();
    digesting.update(Buffer.from(`${owner}\n`));
    await inSlices(bytes, digesting.update);
    const digest = digesting.end();
    if (!parts.has(digest)) {
      const sealing = cipher.startSeal(partLocation(owner, digest));
      await inSlices(bytes, sealing.update);
      parts.set(digest, { digest, content: sealing.end() });
    }
    return JSON.stringify(digest);
  }

  function count(bytes: number): void {
    sealed.bytes += bytes;
    if (sealed.bytes > MAX_CONTENT_BYTES)
      throw new GatewayError('payload_too_large', `A response of more than ${MAX_CONTENT_BYTES} bytes is not stored.`);
    slice += bytes;
  }

  return { slot, sealed };
}

/** Calls `use` with one slice of the bytes after another; other work comes between two of them. */
async function inSlices(bytes: Buffer, use: (slice: Buffer) => void): Promise<void> {
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
    if (start > 0) await yieldToEventLoop();
    use(bytes.subarray(start, start + SLICE_BYTES));
  }
}

/** Reader of the contents of one owner, which decrypts each part once. */
export interface ContentReader {
  /** Undefined if the provider keeps the content, or a part was deleted meanwhile. */
  read(stored: StoredResponse): Promise<StoredContent | undefined>;
}

export function createContentReader(owner: string, parts: readonly StoredPart[], cipher: Cipher): ContentReader {
  const { valueIn, open } = createSlotReader(owner, parts, cipher);

  async function valuesOf(slots: Slot[]): Promise<Json[]> {
    const values: Json[] = [];
    for (const slot of slots) values.push(await valueIn(slot));
    return values;
  }

  return {
    async read({ row, content }) {
      if (!content) return undefined;
      const opened = await open(content, contentLocation(row));
      const { origin, relayed, input, output, response, dropped, request } = opened;
      try {
        const names = Object.keys(response);
        const values = await valuesOf(Object.values(response));
        return {
          origin,
          isRelayed: relayed,
          input: await valuesOf(input),
          output: await valuesOf(output),
          response: Object.fromEntries(names.map((name, index) => [name, values[index]])),
          ...(dropped !== undefined && { dropped }),
          ...(request !== undefined && { request: await valueIn(request) }),
        };
      } catch (error) {
        if (error instanceof MissingPart) return undefined;
        throw error;
      }
    },
  };
}

/** A value in brackets, or the digest of a part. */
export type Slot = [Json] | string;

export interface SlotReader {
  /** Throws `MissingPart`. */
  valueIn(slot: Slot): Json | Promise<Json>;
  /** Decrypts and reads JSON; other work comes between many small ones. */
  open(sealed: Uint8Array, location: CiphertextLocation): Promise<Json>;
}

/** Bytes that take about as long to decrypt and read as the beginning and the end of that do. */
const OPEN_COST_BYTES = 4 * 1024;

export function createSlotReader(owner: string, parts: readonly StoredPart[], cipher: Cipher): SlotReader {
  const sealed = new Map(parts.map(({ digest, content }) => [digest, content]));
  const known = new Map<string, Json>();
  let slice = 0;

  async function open(content: Uint8Array, location: CiphertextLocation): Promise<Json> {
    slice += content.length + OPEN_COST_BYTES;
    if (slice > SLICE_BYTES) {
      slice = 0;
      await yieldToEventLoop();
    }
    const bytes = cipher.open(content, location);
    if (bytes.length <= SLICE_BYTES) return read(bytes);
    await yieldToEventLoop();
    return readInSlices(bytes);
  }

  async function partOf(digest: string): Promise<Json> {
    if (known.has(digest)) return known.get(digest);
    const content = sealed.get(digest);
    if (!content) throw new MissingPart();
    const value = await open(content, partLocation(owner, digest));
    known.set(digest, value);
    return value;
  }

  return { valueIn: (slot) => (typeof slot === 'string' ? partOf(slot) : slot[0]), open };
}

/** A part was deleted meanwhile. */
export class MissingPart extends Error {}

export function contentLocation(row: string) {
  return { table: 'stored_response', id: row, column: 'content' };
}

export function partLocation(owner: string, digest: string) {
  return { table: 'stored_part', id: `${owner}/${digest}`, column: 'content' };
}
