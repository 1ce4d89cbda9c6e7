/** Known member names of a Responses body. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { knownNames, objectWith, PROVIDER_MEMBERS } from '../../core/json/names.ts';
import { COUNT_MEMBERS, LIMIT_MEMBERS } from './output.ts';
import { GATEWAY_FIELDS } from './request-fields.ts';
import { schema } from './request-schema.ts';

export const KNOWN_SCHEMAS: readonly TSchema[] = [
  schema,
  objectWith([...LIMIT_MEMBERS, ...COUNT_MEMBERS, ...GATEWAY_FIELDS]),
  Type.Object({ provider: objectWith(PROVIDER_MEMBERS) }),
];

export const names = knownNames(KNOWN_SCHEMAS);
