/** A model's rules applied to a chat completions request: fields get the name the model reads or are left out. */

import type { Effort } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import type { Adaptation } from '../../core/provider.ts';
import { isForced, reasons } from './fields.ts';
import { developerAsSystem, leadWithSystem, mergeSystemTurns } from './messages.ts';
import { type DialectStep, leaveOut, markDropped, put, remove } from './step.ts';

/** Rules that are not set change nothing, so a provider states its newest ones in full. */
export const obeyRules: DialectStep = (body, rules, done) => {
  nameTokenField(body, rules, done);
  obeyEffort(body, rules, done);
  obeySampling(body, rules, done);
  if (rules.penalties === false) leaveOutAll(body, ['frequency_penalty', 'presence_penalty'], done);
  if (rules.logprobs === false) leaveOutAll(body, ['logprobs', 'top_logprobs'], done);
  if (rules.logitBias === false) leaveOut(body, 'logit_bias', done);
  if (rules.stop === false) leaveOut(body, 'stop', done);
  if (rules.forcedChoice === false) letModelChoose(body, done);
  if (rules.schema === false) describeSchema(body, done);
  // The other way round nothing is to be done: who knows `developer` reads `system` as well.
  if (rules.systemRole === 'system') developerAsSystem(body, rules, done);
  if (rules.midSystem === false) mergeSystemTurns(body, rules, done);
};

function nameTokenField(body: Json, rules: ModelRules, done: Adaptation): void {
  if (!rules.tokenField) return;
  const other = rules.tokenField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (body[other] === undefined) return;
  // Of both, the newer name is the one that is meant.
  const limit = body.max_completion_tokens ?? body.max_tokens;
  if (limit !== null) put(body, rules.tokenField, limit, done);
  remove(body, other, done);
}

const EFFORTS: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

function obeyEffort(body: Json, rules: ModelRules, done: Adaptation): void {
  if (rules.toolsNeedNoReasoning && hasFunctions(body) && body.reasoning_effort !== 'none') {
    if ((body.reasoning_effort ?? null) !== null) markDropped('reasoning_effort', done);
    put(body, 'reasoning_effort', 'none', done);
  }
  const effort = body.reasoning_effort;
  if (effort === undefined) return;
  if (rules.reasoning === 'none' && effort === 'none') remove(body, 'reasoning_effort', done);
  else if (rules.reasoning === 'none' || rules.reasoning === 'always') leaveOut(body, 'reasoning_effort', done);
  else if (effort === 'none' && rules.reasoningOff) return;
  else if (rules.efforts?.length && EFFORTS.includes(effort)) {
    put(body, 'reasoning_effort', nearestEffort(effort, rules.efforts), done);
  }
}

/** The largest allowed effort up to the wanted one, else the smallest; `none` only for those who want none. */
function nearestEffort(wanted: Effort, allowed: readonly Effort[]): Effort {
  if (allowed.includes(wanted)) return wanted;
  const candidates = EFFORTS.filter((effort) => effort !== 'none' && allowed.includes(effort));
  const notAbove = candidates.filter((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(wanted));
  return notAbove.at(-1) ?? candidates[0] ?? 'none';
}

function hasFunctions(body: Json): boolean {
  return Array.isArray(body.tools) && body.tools.some((tool: Json) => tool?.type === 'function');
}

function obeySampling(body: Json, rules: ModelRules, done: Adaptation): void {
  if (rules.sampling === 'never' || (rules.sampling === 'without-reasoning' && reasons(body, rules))) {
    leaveOutAll(body, ['temperature', 'top_p', 'top_k'], done);
  }
  if (rules.bothSampling === false && (body.temperature ?? null) !== null) leaveOut(body, 'top_p', done);
}

function letModelChoose(body: Json, done: Adaptation): void {
  if (!isForced(body.tool_choice)) return;
  markDropped('tool_choice', done);
  if (body.tool_choice?.type === 'allowed_tools') put(body.tool_choice.allowed_tools, 'mode', 'auto', done);
  else put(body, 'tool_choice', 'auto', done);
}

/** A schema in words, and JSON mode, for models without schemas. */
function describeSchema(body: Json, done: Adaptation): void {
  if (body.response_format?.type !== 'json_schema') return;
  const { schema, description } = body.response_format.json_schema ?? {};
  const about = description ? `${description}\n` : '';
  leadWithSystem(
    body,
    `${about}Answer with one JSON object that follows this JSON Schema:\n${JSON.stringify(schema ?? {})}`,
  );
  put(body, 'response_format', { type: 'json_object' }, done);
}

function leaveOutAll(body: Json, fields: string[], done: Adaptation): void {
  for (const field of fields) leaveOut(body, field, done);
}
