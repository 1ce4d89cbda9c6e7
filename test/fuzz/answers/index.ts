/** Generated answers of upstreams, by the protocol: each as a whole body and as the frames of the stream that says the same. */

import type fc from 'fast-check';
import { chat } from './chat.ts';
import { converse } from './converse.ts';
import type { UpstreamAnswer } from './drawing.ts';
import { generate } from './generate.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

const ANSWERS: Record<string, fc.Arbitrary<UpstreamAnswer>> = { chat, messages, generate, responses, converse };

/** Answers of the upstreams that speak a protocol. */
export function answersOf(protocol: string): fc.Arbitrary<UpstreamAnswer> {
  const known = ANSWERS[protocol];
  if (!known) throw new Error(`no answers of ${protocol} are known`);
  return known;
}
