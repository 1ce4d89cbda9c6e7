/** The names of members that a generateContent body may hold, in both spellings of protobuf's JSON. */

import { Type } from 'typebox';
import { knownNames } from '../../core/json/names.ts';
import { requestSchema } from './check.ts';

const snakeCased = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const Wrapped = Type.Object({ model: Type.String(), generateContentRequest: requestSchema });

export const names = knownNames(
  [requestSchema, Wrapped, Type.Object({ generateContentRequest: Type.Object({ model: Type.String() }) })],
  (name) => [name, snakeCased(name)],
);
