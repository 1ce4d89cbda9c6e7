/** Work budget for the JSON schemas of one request: references can expand a small schema without bound. */

import { GatewayError } from '../errors.ts';
import { isObject, type Json } from './json.ts';

/** The remaining budget of one request, shared by all its schemas. */
export interface SchemaBudget {
  /** Keywords, subschemas and places to visit; each takes about a microsecond. */
  steps: number;
  /** Characters of names and texts to write. */
  characters: number;
  /** Limits of the unspent budget, for error messages. */
  readonly most: { readonly steps: number; readonly characters: number };
}

/** Work on one schema, which throws `invalid_request` naming its field once the budget is used up. */
export interface SchemaWork {
  spend(steps: number): void;
  write(characters: number): void;
}

export interface SchemaField {
  /** The hub's name of the parameter. */
  param: string;
  /** Name of the schema in error messages. */
  name: string;
}

const MAX_STEPS = 50_000;
const MAX_CHARACTERS = 2 * 1024 * 1024;

const UNNAMED: SchemaField = { param: 'schema', name: 'A JSON schema' };
const MAX_NAME_CHARACTERS = 64;

export function createSchemaBudget({ steps = MAX_STEPS, characters = MAX_CHARACTERS } = {}): SchemaBudget {
  return { steps, characters, most: { steps, characters } };
}

/** Name of the schema of a tool in error messages. */
export function toolSchemaField(tool: string): SchemaField {
  const name = tool.length > MAX_NAME_CHARACTERS ? `${tool.slice(0, MAX_NAME_CHARACTERS)}...` : tool;
  return { param: 'tools.parameters', name: `The JSON schema of the tool "${name}"` };
}

export const formatSchemaField: SchemaField = { param: 'format.schema', name: 'The JSON schema of the answer' };

export function workOn({ param, name }: SchemaField = UNNAMED, budget = createSchemaBudget()): SchemaWork {
  return {
    spend(steps) {
      budget.steps -= steps;
      if (budget.steps >= 0) return;
      const allowed = `the schemas of a request may take ${budget.most.steps} steps together, their references resolved`;
      throw new GatewayError('invalid_request', `${name} is too large or too entangled: ${allowed}.`, { param });
    },
    write(characters) {
      budget.characters -= characters;
      if (budget.characters >= 0) return;
      const allowed = `the schemas of a request may make ${budget.most.characters} characters together`;
      throw new GatewayError('invalid_request', `${name} is too large, its references resolved: ${allowed}.`, {
        param,
      });
    },
  };
}

/** Deep copy. */
export function copyCounted(value: Json, work: SchemaWork): Json {
  work.spend(1);
  if (typeof value === 'string') work.write(value.length);
  if (Array.isArray(value)) return value.map((item) => copyCounted(item, work));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      work.write(name.length);
      return [name, copyCounted(inner, work)];
    }),
  );
}

/** Whether two values are equal as JSON, regardless of member order. */
export function isEqualJson(one: Json, other: Json, work: SchemaWork): boolean {
  if (one === other) return true;
  work.spend(1);
  if (typeof one === 'string' && typeof other === 'string') {
    if (one.length === other.length) work.write(one.length);
    return false;
  }
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isEqualJson(item, other[index], work));
  if (isHolder(one) !== isHolder(other)) return false;
  if (!isHolder(one)) return JSON.stringify(one) === JSON.stringify(other);
  if (Array.isArray(one) || Array.isArray(other)) return false;
  const names = Object.keys(one);
  work.spend(names.length);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isEqualJson(one[name], other[name], work));
}

function isHolder(value: Json): boolean {
  return Array.isArray(value) || isObject(value);
}
