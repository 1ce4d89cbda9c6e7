/** Known member names of a generateContent body, in both spellings of protobuf's JSON. */

import * as Type from 'typebox';
import { knownNames } from '../../core/json/names.ts';
import { requestSchema } from './check.ts';
import { spellings } from './spelling.ts';

const Wrapped = Type.Object({ model: Type.String(), generateContentRequest: requestSchema });

export const names = knownNames(
  [requestSchema, Wrapped, Type.Object({ generateContentRequest: Type.Object({ model: Type.String() }) })],
  spellings,
);
