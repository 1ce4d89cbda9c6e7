/** The grammar of each protocol's streams, by the protocol's id. */

import { checkChatStream } from './chat.ts';
import type { CheckedStream } from './frames.ts';
import { checkGenerateStream } from './generate.ts';
import { checkMessagesStream } from './messages.ts';
import { checkResponsesStream } from './responses.ts';

const GRAMMARS: Record<string, (text: string) => CheckedStream> = {
  chat: checkChatStream,
  messages: checkMessagesStream,
  generate: checkGenerateStream,
  responses: checkResponsesStream,
};

/** Throws an assertion error for the first thing that breaks the grammar of `protocol`. */
export function checkStream(protocol: string, text: string): CheckedStream {
  const check = GRAMMARS[protocol];
  if (!check) throw new Error(`no grammar is known of streams of ${protocol}`);
  return check(text);
}
