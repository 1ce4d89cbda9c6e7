/** Known member names of a Responses body. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { knownNames } from '../../core/json/names.ts';
import { COUNT_MEMBERS, LIMIT_MEMBERS } from './output.ts';
import { GATEWAY_FIELDS } from './request-fields.ts';
import { schema } from './request-schema.ts';

const Named = (members: readonly string[]) =>
  Type.Object(Object.fromEntries(members.map((name) => [name, Type.Unknown()])));

export const KNOWN_SCHEMAS: readonly TSchema[] = [
  schema,
  Named([...LIMIT_MEMBERS, ...COUNT_MEMBERS, ...GATEWAY_FIELDS]),
  Type.Object({
    provider: Named([
      'options',
      'order',
      'only',
      'ignore',
      'models',
      'fallback',
      'allow_fallbacks',
      'sort',
      'routing',
      'type',
    ]),
  }),
];

export const names = knownNames(KNOWN_SCHEMAS);
