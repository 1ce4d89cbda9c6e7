/** Known member names of a messages body. */

import * as Type from 'typebox';
import { knownNames, objectWith } from '../../core/json/names.ts';
import { BLOCKS } from './block-schema.ts';
import { requestSchema } from './schema.ts';

const Block = Type.Union(Object.values(BLOCKS));
const Blocks = Type.Array(Type.Union([Block, Type.Object({ content: Type.Array(Block) })]));

export const names = knownNames([
  requestSchema,
  Type.Object({ messages: Type.Array(Type.Object({ content: Blocks })), system: Type.Array(Block) }),
  Type.Object({ tools: Type.Array(Type.Object({ max_uses: Type.Unknown(), model: Type.Unknown() })) }),
  objectWith(['provider', 'models', 'betas']),
]);
