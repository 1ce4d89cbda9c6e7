/** The part of JSON Schema that `strict: true` accepts at OpenAI. */

import type { Json } from '../core/json/json.ts';
import type { SchemaDialect } from '../core/json/schema.ts';

const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const LOOKAROUND = /\(\?<?[=!]/;

export const strictSchema: SchemaDialect = {
  keep: [
    '$schema',
    '$ref',
    '$defs',
    'type',
    'title',
    'description',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
    'enum',
    'const',
    'pattern',
    'format',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minItems',
    'maxItems',
  ],
  describe: ['pattern', 'format', 'minLength', 'maxLength', 'uniqueItems', 'not'],
  accepts(keyword: string, value: Json): boolean {
    if (keyword === 'pattern') return !LOOKAROUND.test(value);
    return keyword !== 'format' || FORMATS.includes(value);
  },
  closed: true,
  allRequired: true,
};
