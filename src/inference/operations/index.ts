/** The handlers of operations, by name. */

import type { OperationName } from '../../core/operation.ts';
import { compact } from './compact.ts';
import { complete } from './complete.ts';
import { countTokens } from './count-tokens.ts';
import { embed } from './embed.ts';
import type { OperationHandler } from './handler.ts';

const HANDLERS: Record<OperationName, OperationHandler> = { complete, 'count-tokens': countTokens, compact, embed };

export function handlerOf({ name }: { name: OperationName }): OperationHandler {
  return HANDLERS[name];
}
