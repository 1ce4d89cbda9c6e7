/** Multipart forms as JSON: files become data URIs, names in brackets become objects and lists. */

import { GatewayError } from '../core/errors.ts';
import { isObject, type Json, read } from '../core/json/json.ts';
import { checkNames, createNameWatch } from '../core/json/names.ts';
import { guard, REQUEST_LIMITS } from '../core/json/scan.ts';
import { sniffMime } from '../core/mime.ts';
import { refuse } from './refusal.ts';
import { videoNames } from './request-schema.ts';

type Fields = Record<string, Json>;

const INTEGER_FIELDS = new Set(['duration', 'seconds', 'seed', 'n', 'execution_expires_after']);
const BOOLEAN_FIELDS = new Set(['generate_audio']);
const JSON_FIELDS = new Set(['frame_images', 'input_references', 'input_reference', 'provider', 'metadata']);
const MAX_PARTS = 200;
const MAX_DEPTH = 5;
/** Boundary in a `Content-Type`, in quotes or without. */
const BOUNDARY = /;\s*boundary=(?:"([^"\\]{1,70})"|([^\s;"\\]{1,70}))/i;

/** Throws `invalid_request`. `type` is the `Content-Type` including the boundary. */
export async function readForm(bytes: Buffer, type: string): Promise<Fields> {
  const entries = [...(await parse(bytes, type))];
  if (entries.length > MAX_PARTS) refuseParts();
  const fields: Fields = Object.create(null);
  for (const [name, value] of entries) {
    setField(
      fields,
      parseFieldName(name),
      typeof value === 'string' ? fieldValue(name, value) : await fileValue(name, value),
    );
  }
  checkNames(fields, videoNames, '');
  return fields;
}

async function parse(bytes: Buffer, type: string): Promise<FormData> {
  const [, quoted, plain] = BOUNDARY.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw invalidForm();
  checkParts(bytes, boundary);
  try {
    // Not the header itself, of which the parser may read another boundary.
    const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` };
    return await new Response(new Uint8Array(bytes), { headers }).formData();
  } catch (cause) {
    throw invalidForm(cause);
  }
}

function invalidForm(cause?: unknown): GatewayError {
  return new GatewayError('invalid_request', 'The body is not a valid multipart form.', { cause });
}

/** Counts the parts before parsing, which is far slower. */
function checkParts(bytes: Buffer, boundary: string): void {
  const line = Buffer.from(`--${boundary}`);
  let parts = 0;
  for (let at = bytes.indexOf(line); at >= 0; at = bytes.indexOf(line, at + line.length)) {
    if (++parts > MAX_PARTS + 1) refuseParts();
  }
}

function refuseParts(): never {
  throw new GatewayError('invalid_request', `The form has more than ${MAX_PARTS} parts.`);
}

/** `metadata[color]` is `['metadata', 'color']`, and `input_references[]` is `['input_references', '']`. */
function parseFieldName(name: string): string[] {
  const [, first, rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name) ?? [];
  if (first === undefined)
    throw new GatewayError('invalid_request', `The form has a field with the name "${name.slice(0, 100)}".`);
  const path = [first, ...[...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, key = '']) => key)];
  if (path.length > MAX_DEPTH) refuse(first, `nests deeper than ${MAX_DEPTH} levels.`);
  return path;
}

function setField(target: Fields | Json[], [key = '', ...rest]: string[], value: Json): void {
  const slot = Array.isArray(target) ? (/^\d+$/.test(key) ? Number(key) : target.length) : key;
  if (Array.isArray(target) && Number(slot) > target.length) refuse(key, 'leaves out items of its list.');
  const container = target as Fields;
  if (rest.length === 0) {
    if (Object.hasOwn(target, slot)) refuse(key, 'is given twice; give it once.');
    container[slot] = value;
    return;
  }
  const isList = rest[0] === '' || /^\d+$/.test(rest[0] ?? '');
  container[slot] ??= isList ? [] : Object.create(null);
  if (!isObject(container[slot]) && !Array.isArray(container[slot]))
    refuse(key, 'is given both as a value and as a group of fields.');
  setField(container[slot], rest, value);
}

function fieldValue(name: string, text: string): Json {
  if (INTEGER_FIELDS.has(name) && /^-?\d{1,16}$/.test(text)) return Number(text);
  if (BOOLEAN_FIELDS.has(name) && /^(true|false)$/.test(text)) return text === 'true';
  if (!JSON_FIELDS.has(name) || !/^\s*[[{]/.test(text)) return text;
  try {
    guard(Buffer.from(text), REQUEST_LIMITS, createNameWatch(undefined));
    return read(text);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return refuse(name, 'is not valid JSON.');
  }
}

/** A file becomes a data URI in place of a URL. */
async function fileValue(name: string, file: File): Promise<Json> {
  const bytes = Buffer.from(await file.arrayBuffer());
  const claimed = file.type === '' || file.type === 'application/octet-stream' ? undefined : file.type;
  const mime = sniffMime(bytes) ?? claimed ?? 'application/octet-stream';
  const url = `data:${mime.replace(/;.*$/s, '')};base64,${bytes.toString('base64')}`;
  switch (parseFieldName(name)[0]) {
    case 'input_reference':
      return { image_url: url };
    case 'input_references': {
      const type = `${mime.split('/')[0]}_url`;
      return { type, [type]: { url } };
    }
    default:
      return refuse(name, 'does not take a file; files go into input_reference or input_references[].');
  }
}
