/** Model rules for chat completions: renames or drops the fields that a model does not accept. */

import { EFFORTS, nearestEffort } from '../../core/effort.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import type { Adaptation } from '../../core/provider.ts';
import { isForced, reasons } from './fields.ts';
import { developerAsSystem, mergeSystemTurns, prependToSystem } from './messages.ts';
import { type DialectStep, dropField, markDropped, removeField, setField } from './step.ts';

/** A rule that is not set changes nothing. */
export const applyRules: DialectStep = (body, rules, result) => {
  nameTokenField(body, rules, result);
  applyEffort(body, rules, result);
  applySampling(body, rules, result);
  if (rules.penalties === false) dropFields(body, ['frequency_penalty', 'presence_penalty'], result);
  if (rules.logprobs === false) dropFields(body, ['logprobs', 'top_logprobs'], result);
  if (rules.logitBias === false) dropField(body, 'logit_bias', result);
  if (rules.stop === false) dropField(body, 'stop', result);
  if (rules.forcedChoice === false) unforceToolChoice(body, result);
  if (rules.schema === false) schemaAsInstruction(body, result);
  // The reverse needs no change: a server that knows `developer` accepts `system` too.
  if (rules.systemRole === 'system') developerAsSystem(body, rules, result);
  if (rules.midSystem === false) mergeSystemTurns(body, rules, result);
};

function nameTokenField(body: Json, rules: ModelRules, result: Adaptation): void {
  if (!rules.tokenField) return;
  const other = rules.tokenField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (body[other] === undefined) return;
  // If both are set, the newer name wins.
  const limit = body.max_completion_tokens ?? body.max_tokens;
  if (limit !== null) setField(body, rules.tokenField, limit, result);
  removeField(body, other, result);
}

function applyEffort(body: Json, rules: ModelRules, result: Adaptation): void {
  if (rules.toolsNeedNoReasoning && hasFunctions(body) && body.reasoning_effort !== 'none') {
    if ((body.reasoning_effort ?? null) !== null) markDropped('reasoning_effort', result);
    setField(body, 'reasoning_effort', 'none', result);
  }
  const effort = body.reasoning_effort;
  if (effort === undefined) return;
  if (rules.reasoning === 'none' && effort === 'none') removeField(body, 'reasoning_effort', result);
  else if (rules.reasoning === 'none' || rules.reasoning === 'always') dropField(body, 'reasoning_effort', result);
  else if (effort === 'none' && rules.reasoningOff) return;
  else if (rules.efforts?.length && EFFORTS.includes(effort)) {
    setField(body, 'reasoning_effort', nearestEffort(effort, rules.efforts) ?? 'none', result);
  }
}

function hasFunctions(body: Json): boolean {
  return Array.isArray(body.tools) && body.tools.some((tool: Json) => tool?.type === 'function');
}

function applySampling(body: Json, rules: ModelRules, result: Adaptation): void {
  if (rules.sampling === 'never' || (rules.sampling === 'without-reasoning' && reasons(body, rules))) {
    dropFields(body, ['temperature', 'top_p', 'top_k'], result);
  }
  if (rules.bothSampling === false && (body.temperature ?? null) !== null) dropField(body, 'top_p', result);
}

function unforceToolChoice(body: Json, result: Adaptation): void {
  if (!isForced(body.tool_choice)) return;
  markDropped('tool_choice', result);
  if (body.tool_choice?.type === 'allowed_tools') setField(body.tool_choice.allowed_tools, 'mode', 'auto', result);
  else setField(body, 'tool_choice', 'auto', result);
}

/** For models without JSON Schema: describes the schema in the system turn and sets JSON mode. */
function schemaAsInstruction(body: Json, result: Adaptation): void {
  if (body.response_format?.type !== 'json_schema') return;
  const { schema, description } = body.response_format.json_schema ?? {};
  const about = description ? `${description}\n` : '';
  prependToSystem(
    body,
    `${about}Answer with one JSON object that follows this JSON Schema:\n${JSON.stringify(schema ?? {})}`,
  );
  setField(body, 'response_format', { type: 'json_object' }, result);
}

function dropFields(body: Json, fields: string[], result: Adaptation): void {
  for (const field of fields) dropField(body, field, result);
}
