/** Model `tools`: calls the offered tools, then repeats their results. */

import { isObject, type Json } from '../../core/json/json.ts';
import { type SchemaBudget, toolSchemaField } from '../../core/json/schema-budget.ts';
import { callAnswer, type SandboxAnswer, type SandboxToolCall, textAnswer } from './answer.ts';
import type { OfferedTool, SandboxRequest } from './request.ts';
import { createSampleBudget, sampleSchema } from './schema-sample.ts';

/** Every string argument: user text could be harmful if a client runs calls unseen. */
const FILLER = 'sandbox';

export function tools(request: SandboxRequest): SandboxAnswer {
  const results = resultsOf(request);
  if (results.length > 0 && request.choice !== 'required') return textAnswer(results.join('\n'), request);
  const [first] = request.tools;
  if (!first) return textAnswer('No tools were offered, so there is nothing to call.', request);
  if (request.choice === 'none') {
    return textAnswer(`${first.name} was offered, but tool_choice is none, so nothing was called.`, request);
  }
  const all = request.parallel && /\bin parallel\b/i.test(request.text);
  const budget = createSampleBudget();
  const called = (all ? request.tools : [first]).map((tool) => callOf(tool, budget));
  return callAnswer(called, request);
}

/** One line per tool result since the last assistant message. */
function resultsOf({ messages }: SandboxRequest): string[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages
    .slice(last + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ tool, text }) => `${tool ?? 'A tool'} answered: ${text}`);
}

function callOf({ name, parameters, custom }: OfferedTool, budget: SchemaBudget): SandboxToolCall {
  return { name, custom, input: custom ? FILLER : JSON.stringify(argumentsFor(name, parameters, budget)) };
}

/** Arguments are always an object, even if the schema does not require one. */
function argumentsFor(tool: string, parameters: Json, budget: SchemaBudget): Json {
  const field = { ...toolSchemaField(tool), param: 'tools.function.parameters' };
  const value = sampleSchema({ type: 'object', ...parameters }, FILLER, { field, budget });
  return isObject(value) ? value : {};
}
