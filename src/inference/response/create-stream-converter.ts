/** Choice of the stream converter: a translation for a translated request, else a relay. */

import type { Usage } from '../../core/chat.ts';
import type { Cost } from '../../core/operation.ts';
import type { Framer } from '../../core/sse.ts';
import type { ResponseContext } from './context.ts';
import type { StreamConverter } from './converter.ts';
import { costOf } from './cost.ts';
import { createRelay } from './relay-stream.ts';
import { learnState } from './state.ts';
import { createTranslation } from './translate-stream.ts';

export function createStreamConverter(context: ResponseContext, createFramer: () => Framer): StreamConverter {
  const { call, planned, options, assembler, finished } = context;
  if (assembler) {
    const charged = (usage: Usage): Cost | undefined => costOf(usage, assembler.facts().finish, context);
    const translated = { ...options, costOf: charged };
    return createTranslation({ plan: planned, client: call.protocol, options: translated, assembler, createFramer });
  }
  return createRelay(call.protocol, options, {
    createFramer,
    learn(body, bytes) {
      learnState(context, body);
      finished?.add(body, bytes);
    },
    readsItems: finished !== undefined,
    costOf: (usage, finish) => costOf(usage, finish, context),
  });
}
