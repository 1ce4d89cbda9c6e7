/** The names of members that a generateContent body may hold, in both spellings of protobuf's JSON. */

import { Type } from 'typebox';
import { knownNames } from '../../core/json/names.ts';
import { schemas } from './check.ts';

const snakeCased = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const Wrapped = Type.Object({ model: Type.String(), generateContentRequest: schemas.generate });

export const names = knownNames(
  [schemas.generate, Wrapped, Type.Object({ generateContentRequest: Type.Object({ model: Type.String() }) })],
  (name) => [name, snakeCased(name)],
);
