/** One recording at one client protocol, and what is said of it. */

import type { Answer, Reader } from './answer.ts';
import type { Finding } from './expectation.ts';
import { chat } from './readers/chat.ts';
import { converse } from './readers/converse.ts';
import { generate } from './readers/generate.ts';
import { messages } from './readers/messages.ts';
import { responses } from './readers/responses.ts';
import type { RecordedId, Recording, UpstreamId } from './recordings.ts';
import type { Answered, Received, Replay } from './replay.ts';

export interface Verdict extends Finding {
  id: string;
  scenario: string;
  from: UpstreamId;
  to: RecordedId;
  /** How the client asked. */
  form: 'whole' | 'stream';
}

export const READERS: Record<RecordedId, Reader> = { chat, messages, generate, responses, converse };

/** The recorded answer in both forms, and what it says; a failure when it is an error or breaks off. */
export interface Recorded {
  answer?: Answer;
  failure?: string;
  whole: Answered;
  stream: Answered;
}

export interface Trial {
  recording: Recording;
  recorded: Recorded;
  client: UpstreamId;
  replay: Replay;
  add(findings: Finding[], form?: Verdict['form']): void;
}

export function messageOf({ text }: Received): string {
  try {
    return String(JSON.parse(text).error?.message ?? '');
  } catch {
    return '';
  }
}
