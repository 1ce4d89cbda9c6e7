/** Model `echo`: repeats the last user message. */

import { type SandboxAnswer, textAnswer } from './answer.ts';
import type { SandboxRequest } from './request.ts';

export function echo(request: SandboxRequest): SandboxAnswer {
  return textAnswer(request.text, request);
}
