/**
 * Writes `shapes.json`: the names, types and required members that an OpenAPI document of Open Responses gives to responses,
 * events and errors, without its words. `node test/validators/open-responses/import.ts FILE` does it for another version.
 */

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../../src/core/json/json.ts';
import type { Shape } from './check.ts';

/** Schemas that the gateway's output must fit; those they refer to come along. */
const ROOTS = ['ResponseResource', 'ErrorPayload', 'WebSocketErrorEvent'];
const PREFIX = '#/components/schemas/';

const [file = ''] = process.argv.slice(2);
const bytes = readFileSync(file);
const document: Json = JSON.parse(bytes.toString());
const schemas: Record<string, Json> = document.components.schemas;
const shapes: Record<string, Shape> = {};
const events = Object.keys(schemas).filter((name) => name.endsWith('StreamingEvent'));
for (const name of [...ROOTS, ...events]) add(name);

const source = {
  specification: `${document.info.title} ${document.info.version}`,
  sha256: createHash('sha256').update(bytes).digest('hex'),
};
const text = JSON.stringify({ source, events, shapes }, null, 1);
writeFileSync(join(import.meta.dirname, 'shapes.json'), `${text}\n`);

function add(name: string): void {
  if (name in shapes) return;
  shapes[name] = 'anything';
  shapes[name] = shapeOf(schemas[name]);
}

function shapeOf(schema: Json): Shape {
  if (schema.$ref) {
    const name = schema.$ref.slice(PREFIX.length);
    add(name);
    return `@${name}`;
  }
  const choices: Json[] | undefined = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choices) {
    // Beside a reference stands an empty schema with its description.
    const found = choices.map(shapeOf).filter((shape) => !schema.allOf || shape !== 'anything');
    return found.length === 1 ? (found[0] as Shape) : { either: found };
  }
  if (schema.enum) return { values: schema.enum };
  if (schema.type === 'array') return { list: shapeOf(schema.items ?? {}) };
  if (schema.properties) {
    const members = Object.entries(schema.properties).map(([name, member]) => [name, shapeOf(member)]);
    return { members: Object.fromEntries(members), required: schema.required ?? [] };
  }
  return schema.type ?? 'anything';
}
