/** Parts of a request that OpenAI's protocols have in common: keys of clients, reasoning effort, output format, tool choice, and what models refuse. */

import type { ChatRequest, Effort, ToolChoice } from '../core/chat.ts';
import { EFFORTS, effortOf, nearestEffort } from '../core/effort.ts';
import { GatewayError } from '../core/errors.ts';
import { bearerToken, type Fields } from '../core/fields.ts';
import type { Json } from '../core/json/json.ts';
import { describedSchema, toDialect, withItems } from '../core/json/schema.ts';
import { formatSchemaField, type SchemaBudget } from '../core/json/schema-budget.ts';
import type { ModelRules } from '../core/model.ts';
import { isForced } from '../core/tools.ts';
import { strictSchema } from './openai-strict-schema.ts';

const DEFAULT_OUTPUT_TOKENS = 65_536;

/** API keys of clients made for OpenAI: `Authorization: Bearer`, or the `api-key` of clients made for Azure. */
export function credentials(headers: Fields): string[] {
  const bearer = bearerToken(headers.authorization);
  return [bearer, headers['api-key']].filter((key) => key !== undefined);
}

/** The effort for the model, as these protocols have no token budgets; undefined if unset or unsupported. */
export function encodeEffort(
  { reasoning }: Pick<ChatRequest, 'reasoning'>,
  rules: ModelRules,
  dropped: Set<string>,
): Effort | undefined {
  const requested = requestedEffort(reasoning, rules);
  if (requested === undefined) return undefined;
  if (rules.reasoning === 'none' || rules.reasoning === 'always') {
    if ((requested === 'none') !== (rules.reasoning === 'none')) dropped.add('reasoning');
    return undefined;
  }
  return nearestEffort(requested, supportedEfforts(rules)) ?? requested;
}

/** The effort that a request asks for, by its name or as a budget. */
export function requestedEffort(reasoning: ChatRequest['reasoning'], rules: ModelRules): Effort | undefined {
  return reasoning?.effort ?? effortFor(reasoning?.budget, rules);
}

/** A model with effort `none` does not reason by default, so an automatic budget becomes an explicit effort. */
function effortFor(budget: number | undefined, rules: ModelRules): Effort | undefined {
  if (budget === undefined) return undefined;
  if (budget >= 0) return effortOf(budget, rules.maxOutput ?? DEFAULT_OUTPUT_TOKENS);
  return rules.efforts?.includes('none') ? 'medium' : undefined;
}

function supportedEfforts({ efforts, reasoningOff }: ModelRules): readonly Effort[] {
  const known = efforts ?? EFFORTS;
  return reasoningOff === false ? known.filter((effort) => effort !== 'none') : known;
}

export function refusePrefill({ turns }: ChatRequest, rules: ModelRules): void {
  const last = turns.at(-1);
  if (rules.prefill !== false || last?.role !== 'assistant' || last.parts.some((part) => part.type === 'call')) return;
  throw new GatewayError(
    'unsupported_parameter',
    'This model does not continue an assistant turn: the last turn must be a user turn.',
    { param: 'turns' },
  );
}

export type EncodedFormat =
  | { type: 'json_object' }
  | { type: 'json_schema'; name: string; description: string | undefined; schema: Json; strict: boolean | undefined };

/** A model without native schemas gets JSON mode and the schema in words. */
export function encodeFormat(
  { format, tools }: ChatRequest,
  rules: ModelRules,
  { dropped, schemas }: { dropped: Set<string>; schemas: SchemaBudget },
): { format?: EncodedFormat; instruction?: string } {
  if (!format) return {};
  if (tools.length > 0 && rules.schemaWithTools === false) {
    throw new GatewayError('unsupported_parameter', 'This model does not write JSON output while it has tools.', {
      param: 'format',
    });
  }
  if (format.type === 'json') return { format: { type: 'json_object' } };
  const { name = 'response', description, strict } = format;
  if (rules.schema === false) {
    const instruction = `Answer with JSON only, valid against this JSON schema:\n${JSON.stringify(describedSchema(format))}`;
    return { format: { type: 'json_object' }, instruction };
  }
  const asked = withItems(format.schema);
  const { schema, lost } = strict
    ? toDialect(asked, strictSchema, { field: formatSchemaField, budget: schemas })
    : { schema: asked, lost: [] };
  if (lost.length > 0) dropped.add('format.schema');
  return { format: { type: 'json_schema', name, description, schema, strict } };
}

/** The mode of a tool choice; undefined without one, and for a named tool, which each protocol writes in its own way. */
export function encodeChoiceMode(
  choice: ToolChoice | undefined,
  rules: ModelRules,
  dropped: Set<string>,
): 'none' | 'auto' | 'required' | undefined {
  if (!choice) return undefined;
  if (isForced(choice) && rules.forcedChoice === false) {
    dropped.add('toolChoice');
    return 'auto';
  }
  if (choice.type === 'allowed') return choice.required ? 'required' : 'auto';
  return choice.type === 'named' ? undefined : choice.type;
}
