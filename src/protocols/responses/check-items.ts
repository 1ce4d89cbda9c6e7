/** Check of the items of a Responses request, as translation requires. */

import type { TSchema } from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import { problems } from '../../core/json/check.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { MAX_NAME_CHARACTERS, shortened } from '../../core/lengths.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { DATA_URL, isDataUrl, problemOfDataUrl } from '../data-url.ts';
import { HOSTED_ITEMS, ITEMS, MESSAGE_PARTS, OUTPUT_PARTS, PARTS } from './item-schema.ts';
import { checkTools } from './tool-schema.ts';

/** Throws `invalid_request` for the first problem in a list of items. */
export function checkItems(items: Json, path: string): void {
  if (!Array.isArray(items)) return;
  for (const [index, item] of items.entries()) checkItem(item, `${path}[${index}]`);
}

/** The type of an item; a message may have none. */
export function itemType(item: Json): string {
  return item.type ?? 'message';
}

/** Whether an item tells work of a tool that ran at its provider. */
export function isHostedItem(type: string): boolean {
  return HOSTED_ITEMS.includes(type);
}

export function unknownItem(type: string, path: string): GatewayError {
  return unsupported(path, `is ${quoted(type)}, which is not known here; known are ${listed(Object.keys(ITEMS))}`);
}

function checkItem(item: Json, path: string): void {
  const type = itemType(item);
  const schema = lookUp(ITEMS, type);
  if (!schema) throw unknownItem(type, `${path}.type`);
  checkValue(schema, item, path);
  if (type === 'message') checkParts(item.content, `${path}.content`, MESSAGE_PARTS[item.role] ?? []);
  else if (type === 'function_call_output' || type === 'custom_tool_call_output')
    checkParts(item.output, `${path}.output`, OUTPUT_PARTS);
  else if (type === 'computer_call_output') checkAddress(item.output.image_url, `${path}.output.image_url`);
  else if (type === 'additional_tools' || type === 'tool_search_output') checkTools(item.tools, `${path}.tools`);
}

function checkParts(content: Json, path: string, allowed: readonly string[]): void {
  if (!Array.isArray(content)) return;
  for (const [index, part] of content.entries()) {
    const at = `${path}[${index}]`;
    const schema = allowed.includes(part.type) ? lookUp(PARTS, part.type) : undefined;
    if (!schema) throw unsupported(`${at}.type`, `must be one of ${listed(allowed)}`);
    checkValue(schema, part, at);
    if (part.type === 'input_image' && !part.image_url && !part.file_id) fail(at, 'must have image_url or file_id');
    if (part.type === 'input_file' && !part.file_data && !part.file_url && !part.file_id)
      fail(at, 'must have file_data, file_url or file_id');
    checkAddress(part.image_url, `${at}.image_url`);
    checkAddress(part.file_data, `${at}.file_data`);
  }
}

function checkAddress(address: unknown, path: string): void {
  if (typeof address !== 'string' || !address.startsWith(DATA_URL) || isDataUrl(address)) return;
  fail(path, problemOfDataUrl(address));
}

function checkValue(schema: TSchema, value: Json, path: string): void {
  const [problem] = isObject(value) ? problems(schema, value) : [{ path: '', message: 'must be an object' }];
  if (problem) fail(problem.path === '' ? path : `${path}.${problem.path}`, problem.message);
}

function listed(names: readonly string[]): string {
  return names.map(quoted).join(', ');
}

function quoted(name: string): string {
  return JSON.stringify(shortened(name, MAX_NAME_CHARACTERS));
}

/** Error `unsupported_parameter`, after which another upstream may be tried. */
function unsupported(path: string, message: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${path} ${message}.`, { param: path });
}

function fail(path: string, message: string): never {
  throw new GatewayError('invalid_request', `${path} ${message}.`, { param: path });
}
