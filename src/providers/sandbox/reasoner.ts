/** Model `reasoner`: emits made-up reasoning, then answers like `tools` if tools are offered, else like `echo`. */

import type { Effort } from '../../core/chat.ts';
import type { Piece, SandboxAnswer } from './answer.ts';
import { echo } from './echo.ts';
import type { SandboxRequest } from './request.ts';
import { tokens } from './tokens.ts';
import { tools } from './tools.ts';

const STEPS_BY_EFFORT: Record<Effort, number> = { none: 0, minimal: 1, low: 2, medium: 4, high: 8, xhigh: 16, max: 32 };

export function reasoner(request: SandboxRequest): SandboxAnswer {
  const answer = request.tools.length > 0 ? tools(request) : echo(request);
  const most = Math.min(request.budget, request.limit + 1);
  const thoughts = tokens(thinking(request.text, STEPS_BY_EFFORT[request.effort]), most);
  const pieces = thoughts.map((text): Piece => ({ type: 'reasoning', text }));
  return { ...answer, pieces: [...pieces, ...answer.pieces] };
}

function thinking(text: string, steps: number): string {
  const words: string[] = [];
  for (const [word] of text.matchAll(/\S+/g)) if (words.push(word) >= steps) break;
  return Array.from({ length: steps }, (_, step) => thought(step, words[step])).join('\n');
}

function thought(step: number, word: string | undefined): string {
  return `Step ${step + 1}: ${word === undefined ? 'no word is left to look at.' : `the user wrote "${word}".`}`;
}
