/** The model `echo`: says what the user said last. */

import { type Answer, textAnswer } from './answer.ts';
import type { SandboxRequest } from './request.ts';

export function echo(request: SandboxRequest): Answer {
  return textAnswer(request.text, request);
}
