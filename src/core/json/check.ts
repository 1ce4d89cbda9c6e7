/** Schema check: validates values against TypeBox schemas and describes each problem and the allowed values. */

import type { TSchema } from 'typebox';
import type { Compile } from 'typebox/compile';
import { GatewayError } from '../errors.ts';
import { isObject, type Json } from './json.ts';

export interface Problem {
  /** Like `messages[2].content[0].type`; empty for the value itself. */
  path: string;
  /** Names the allowed form, e.g. `must be a number between 0 and 2`. */
  message: string;
  /** The known field names, if the problem is an unknown field. */
  allowed?: string[];
}

interface Validator {
  Check(value: unknown): boolean;
}

/** Validators of schemas by how often they were asked for: a schema that is used once, as that of the configuration, is not compiled. */
const validators = new WeakMap<TSchema, Validator | 'used once'>();

let compile: typeof Compile | undefined;
let isLoading = false;

async function loadCompiler(): Promise<void> {
  isLoading = true;
  ({ Compile: compile } = await import('typebox/compile'));
}

/** All problems of a value; empty if it is valid. `null` in an optional field counts as absent. */
export function problems(schema: TSchema, value: unknown): Problem[] {
  return validatorOf(schema)?.Check(value) ? [] : explain(schema as Json, value, '');
}

/** A faster check, from the second use on. The compiler is large, so it is loaded when it is needed. */
function validatorOf(schema: TSchema): Validator | undefined {
  const known = validators.get(schema);
  if (known === undefined) {
    validators.set(schema, 'used once');
    return undefined;
  }
  if (known !== 'used once') return known;
  if (!compile) {
    if (!isLoading) void loadCompiler();
    return undefined;
  }
  const validator = compile(schema);
  validators.set(schema, validator);
  return validator;
}

/** Throws `invalid_request` with the first problem, its path as `param`. */
export function assertValid(schema: TSchema, value: unknown): void {
  const [first] = problems(schema, value);
  if (!first) return;
  const message = first.path === '' ? `The body ${first.message}.` : `${first.path} ${first.message}.`;
  throw new GatewayError('invalid_request', message, { param: first.path === '' ? undefined : first.path });
}

function explain(schema: Json, value: unknown, path: string): Problem[] {
  if (schema.anyOf) return explainUnion(schema, value, path);
  if (schema.const !== undefined)
    return value === schema.const ? [] : [{ path, message: `must be ${quoted(schema.const)}` }];
  if (schema.enum) return schema.enum.includes(value) ? [] : [{ path, message: `must be one of ${list(schema.enum)}` }];
  switch (schema.type) {
    case 'object':
      return isObject(value)
        ? explainObject(schema, value, path)
        : [{ path, message: `must be an object${not(value, schema)}` }];
    case 'array':
      return Array.isArray(value)
        ? explainArray(schema, value, path)
        : [{ path, message: `must be an array${not(value, schema)}` }];
    case 'number':
    case 'integer':
      return explainNumber(schema, value, path);
    case 'string':
      return explainString(schema, value, path);
    case 'boolean':
      return typeof value === 'boolean' ? [] : [{ path, message: `must be true or false${not(value)}` }];
    case 'null':
      return value === null ? [] : [{ path, message: 'must be null' }];
    default:
      return [];
  }
}

/** Expressions by the patterns of schemas. */
const expressions = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  const known = expressions.get(pattern) ?? new RegExp(pattern, 'u');
  expressions.set(pattern, known);
  return known;
}

/** Problems of one list or object after which no others are looked for. */
const MAX_PROBLEMS = 100;

function explainObject(schema: Json, value: Record<string, Json>, path: string): Problem[] {
  const found: Problem[] = [];
  const properties: Record<string, Json> = schema.properties ?? {};
  const required: string[] = schema.required ?? [];
  for (const name of required) {
    if (value[name] === undefined) found.push({ path: join(path, name), message: 'is required' });
  }
  for (const [name, inner] of Object.entries(value)) {
    if (found.length >= MAX_PROBLEMS) break;
    if (inner === undefined) continue;
    const property = Object.hasOwn(properties, name) ? properties[name] : patternFor(schema, name);
    const isUnknown = !property && schema.additionalProperties === false;
    if (inner === null && !isUnknown && !required.includes(name)) continue;
    if (property) found.push(...explain(property, inner, join(path, name)));
    else if (isUnknown) {
      found.push({ path: join(path, name), message: 'is not a known field', allowed: Object.keys(properties) });
    } else if (isObject(schema.additionalProperties)) {
      found.push(...explain(schema.additionalProperties, inner, join(path, name)));
    }
  }
  const count = Object.keys(value).length;
  if (count > (schema.maxProperties ?? count))
    found.push({ path, message: `must have at most ${schema.maxProperties} entries` });
  if (schema.minProperties === 1 && Object.values(value).every((inner) => inner === undefined || inner === null))
    found.push({ path, message: 'must not be empty' });
  return found;
}

function patternFor(schema: Json, name: string): Json {
  for (const [pattern, inner] of Object.entries(schema.patternProperties ?? {})) {
    if (expressionOf(pattern).test(name)) return inner;
  }
  return undefined;
}

function explainArray(schema: Json, value: unknown[], path: string): Problem[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  if (value.length < minItems) {
    return [{ path, message: minItems === 1 ? 'must not be empty' : `must have at least ${minItems} items` }];
  }
  if (value.length > maxItems) return [{ path, message: `must have at most ${maxItems} items` }];
  const found: Problem[] = [];
  for (let index = 0; schema.items && index < value.length && found.length < MAX_PROBLEMS; index++)
    found.push(...explain(schema.items, value[index], `${path}[${index}]`));
  return found;
}

function explainNumber(schema: Json, value: unknown, path: string): Problem[] {
  const { minimum, maximum, exclusiveMinimum } = schema;
  const valid =
    typeof value === 'number' &&
    Number.isFinite(value) &&
    (schema.type !== 'integer' || Number.isInteger(value)) &&
    value >= (minimum ?? value) &&
    value <= (maximum ?? value) &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum);
  if (valid) return [];
  const kind = schema.type === 'integer' ? 'an integer' : 'a number';
  if (minimum !== undefined && maximum !== undefined) {
    return [{ path, message: `must be ${kind} between ${minimum} and ${maximum}${not(value)}` }];
  }
  if (exclusiveMinimum !== undefined)
    return [{ path, message: `must be ${kind} greater than ${exclusiveMinimum}${not(value)}` }];
  if (minimum !== undefined) return [{ path, message: `must be ${kind} of at least ${minimum}${not(value)}` }];
  if (maximum !== undefined) return [{ path, message: `must be ${kind} of at most ${maximum}${not(value)}` }];
  return [{ path, message: `must be ${kind}${not(value)}` }];
}

function explainString(schema: Json, value: unknown, path: string): Problem[] {
  if (typeof value !== 'string')
    return [{ path, message: `${schema.errorMessage ?? 'must be a string'}${not(value, schema)}` }];
  const { minLength = 0 } = schema;
  if (value.length < minLength)
    return [{ path, message: minLength === 1 ? 'must not be empty' : `must be at least ${minLength} characters long` }];
  if (value.length > (schema.maxLength ?? value.length)) {
    return [{ path, message: `must be at most ${schema.maxLength} characters long` }];
  }
  if (schema.pattern && !expressionOf(schema.pattern).test(value)) {
    return [{ path, message: schema.errorMessage ?? `must match ${schema.pattern}` }];
  }
  return [];
}

/** Problems of the union branch that matches best: by tag, else by JSON type. */
function explainUnion(schema: Json, value: unknown, path: string): Problem[] {
  const branches: Json[] = schema.anyOf;
  const attempts = branches.map((branch) => ({ branch, found: explain(branch, value, path) }));
  if (attempts.some(({ found }) => found.length === 0)) return [];
  const constants = branches.filter((branch) => branch.const !== undefined).map((branch) => branch.const);
  if (constants.length === branches.length)
    return [{ path, message: `must be one of ${list(constants)}${not(value, schema)}` }];

  const tag = tagOf(branches);
  if (tag && isObject(value)) {
    const allowed = branches.flatMap((branch) => tagValues(branch, tag));
    if (value[tag] === undefined) return [{ path: join(path, tag), message: `is required: one of ${list(allowed)}` }];
    const match = attempts.find(({ branch }) => tagValues(branch, tag).includes(value[tag]));
    return match
      ? match.found
      : [{ path: join(path, tag), message: `must be one of ${list(allowed)}${not(value[tag])}` }];
  }
  const sameKind = attempts.filter(({ branch }) => kindMatches(branch, value));
  const closest = sameKind.sort((one, other) => depth(other.found) - depth(one.found))[0];
  if (closest) return closest.found;
  return [{ path, message: `must be ${[...new Set(branches.map(kindName))].join(' or ')}${not(value, schema)}` }];
}

/** The discriminator property of the object branches. */
function tagOf(branches: Json[]): string | undefined {
  const objects = branches.filter((branch) => branch.type === 'object');
  if (objects.length < 2) return undefined;
  return ['type', 'role'].find((name) => objects.every((branch) => tagValues(branch, name).length > 0));
}

function tagValues(branch: Json, tag: string): unknown[] {
  const property = branch.properties?.[tag];
  if (!property) return [];
  if (property.const !== undefined) return [property.const];
  return (
    property.enum ??
    (property.anyOf ?? []).map((inner: Json) => inner.const).filter((inner: Json) => inner !== undefined)
  );
}

function kindMatches(branch: Json, value: unknown): boolean {
  if (branch.const !== undefined) return false;
  if (branch.enum) return typeof value === 'string';
  if (branch.type === 'integer') return typeof value === 'number';
  if (branch.type === 'array') return Array.isArray(value);
  if (branch.type === 'object') return isObject(value);
  return branch.type === typeof value;
}

function kindName(branch: Json): string {
  if (branch.const !== undefined) return quoted(branch.const);
  if (branch.enum) return `one of ${list(branch.enum)}`;
  if (branch.type === 'null') return 'null';
  return /^[aeio]/.test(branch.type) ? `an ${branch.type}` : `a ${branch.type}`;
}

function depth(found: Problem[]): number {
  return found[0]?.path.length ?? 0;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}

function list(values: unknown[]): string {
  return values.map(quoted).join(', ');
}

/** The actual value, if it is short enough to show, and no secret. */
function not(value: unknown, schema: Json = {}): string {
  if (value === undefined) return '';
  if (value === null) return ', not null';
  if (Array.isArray(value)) return ', not an array';
  if (typeof value === 'object') return ', not an object';
  const text = quoted(value);
  return text.length <= 40 && !holdsSecret(schema) ? `, not ${text}` : `, not a ${typeof value}`;
}

const secretSchemas = new WeakMap<object, boolean>();

/** Whether the schema is that of a secret (`writeOnly`), or has one inside, in whose place the value may have been written. */
function holdsSecret(schema: Record<string, Json>): boolean {
  const known = secretSchemas.get(schema);
  if (known !== undefined) return known;
  const { writeOnly, items, properties, patternProperties, anyOf = [] } = schema;
  const inner = [items, ...anyOf, ...Object.values(properties ?? {}), ...Object.values(patternProperties ?? {})];
  const holds = writeOnly === true || inner.some((one) => isObject(one) && holdsSecret(one));
  secretSchemas.set(schema, holds);
  return holds;
}
