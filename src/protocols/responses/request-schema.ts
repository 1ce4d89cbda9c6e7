/** Request schema of the Responses protocol. Unknown members, items and tools pass: the upstream checks them. */

import * as Type from 'typebox';
import { EFFORTS } from '../../core/effort.ts';
import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { MAX_ID_CHARACTERS, MAX_MODEL_CHARACTERS, MAX_NAME_CHARACTERS } from '../../core/lengths.ts';
import { relaxed } from '../../core/relaxed-schema.ts';
import { checkItems } from './check-items.ts';
import { checkToolChoice, checkTools } from './tool-schema.ts';

const OptionalString = Type.Optional(Type.String());
const OptionalBoolean = Type.Optional(Type.Boolean());
const Open = Type.Object({});
const Id = Type.Optional(Type.String({ maxLength: MAX_ID_CHARACTERS }));
const ConversationId = Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS });
const MAX_METADATA_NAME_CHARACTERS = 64;

/** Names are bounded by `checkMetadata`. */
export const metadataSchema = Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16 });

const Name = Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS }));

function between(minimum: number, maximum: number) {
  return Type.Optional(Type.Number({ minimum, maximum }));
}

function integer(minimum: number, maximum?: number) {
  return Type.Optional(Type.Integer({ minimum, ...(maximum !== undefined && { maximum }) }));
}

/** A message has no type, or the type `message`. */
const Item = Type.Object({
  type: OptionalString,
  id: Id,
  role: OptionalString,
  call_id: Id,
  name: Name,
  namespace: Name,
  encrypted_content: OptionalString,
});

const Tool = Type.Object({ type: Type.String(), name: Name });

const Body = Type.Object({
  model: Type.String({ minLength: 1, maxLength: MAX_MODEL_CHARACTERS }),
  input: Type.Optional(Type.Union([Type.String(), Type.Array(Item)])),
  instructions: Type.Optional(Type.Union([Type.String(), Type.Array(Item)])),
  previous_response_id: Id,
  conversation: Type.Optional(Type.Union([ConversationId, Type.Object({ id: ConversationId })])),
  prompt: Type.Optional(Type.Object({ id: Id, version: OptionalString, variables: Type.Optional(Open) })),
  stream: OptionalBoolean,
  stream_options: Type.Optional(Type.Object({ include_obfuscation: OptionalBoolean })),
  store: OptionalBoolean,
  background: OptionalBoolean,
  include: Type.Optional(Type.Array(Type.String())),
  max_output_tokens: integer(1),
  max_tool_calls: integer(0),
  temperature: between(0, 2),
  top_p: between(0, 1),
  top_logprobs: integer(0, 20),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  text: Type.Optional(
    Type.Object({
      format: Type.Optional(Type.Object({ type: OptionalString, name: Name, schema: Type.Optional(Open) })),
      verbosity: OptionalString,
    }),
  ),
  reasoning: Type.Optional(
    Type.Object({
      effort: OptionalString,
      summary: OptionalString,
      context: OptionalString,
      mode: OptionalString,
      generate_summary: OptionalString,
    }),
  ),
  tools: Type.Optional(Type.Array(Tool)),
  tool_choice: Type.Optional(Type.Union([Type.String(), Type.Object({ type: OptionalString, name: Name })])),
  parallel_tool_calls: OptionalBoolean,
  truncation: OptionalString,
  context_management: Type.Optional(Type.Array(Type.Object({ type: OptionalString }))),
  metadata: Type.Optional(metadataSchema),
  safety_identifier: OptionalString,
  user: OptionalString,
  service_tier: OptionalString,
  prompt_cache_key: OptionalString,
  prompt_cache_retention: OptionalString,
  prompt_cache_options: Type.Optional(Type.Object({ comparison_response_id: Id })),
  moderation: Type.Optional(Open),
  client_metadata: Type.Optional(Open),
  provider: Type.Optional(Open),
});

export const schema = Body;

/** Members of a request that a count of its tokens has. */
export const COUNT_FIELDS = [
  'model',
  'input',
  'instructions',
  'previous_response_id',
  'conversation',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'truncation',
] as const;

/** Members of a request that compacts a conversation. */
export const compactSchema = Type.Pick(Body, [
  'model',
  'input',
  'instructions',
  'previous_response_id',
  'prompt_cache_key',
  'prompt_cache_options',
  'service_tier',
  'provider',
]);

export const countSchema = Type.Pick(Body, [...COUNT_FIELDS, 'provider']);

/** Members whose ranges the gateway enforces: they determine the cost of a request. */
const Limits = relaxed(Body, ['model', 'temperature', 'max_output_tokens']);

export function checkLimits(body: Json): void {
  assertValid(Limits, body);
  refuseBoth(body);
}

const Named = { name: Type.String({ minLength: 1, maxLength: 64 }) };

/** Values that matter only where a request is translated; an upstream of the protocol may know others. */
const Translated = Type.Object({
  text: Type.Optional(
    Type.Object({
      format: Type.Optional(
        Type.Union([
          Type.Object({ type: Type.Literal('text') }),
          Type.Object({ type: Type.Literal('json_object') }),
          Type.Object({ type: Type.Literal('json_schema'), ...Named, schema: Open, strict: OptionalBoolean }),
        ]),
      ),
      verbosity: Type.Optional(Type.Enum(['low', 'medium', 'high'])),
    }),
  ),
  reasoning: Type.Optional(Type.Object({ effort: Type.Optional(Type.Enum([...EFFORTS])) })),
});

/** Throws `invalid_request` for the first problem, and `unsupported_parameter` for items that are not known here. */
export function check(body: Json): void {
  assertValid(Body, body);
  assertValid(Translated, body);
  checkItems(body.input, 'input');
  checkItems(body.instructions, 'instructions');
  checkTools(body.tools, 'tools');
  checkToolChoice(body.tool_choice);
  checkMetadata(body.metadata);
  refuseBoth(body);
}

/** Throws `invalid_request` for a name that is too long. */
export function checkMetadata(metadata: Json): void {
  for (const name of Object.keys(metadata ?? {})) {
    if (name.length <= MAX_METADATA_NAME_CHARACTERS) continue;
    const message = `metadata must have names of at most ${MAX_METADATA_NAME_CHARACTERS} characters.`;
    throw new GatewayError('invalid_request', message, { param: 'metadata' });
  }
}

function refuseBoth(body: Json): void {
  const { previous_response_id: previous, conversation } = body;
  if (!isGiven(previous) || !isGiven(conversation)) return;
  throw new GatewayError('invalid_request', 'previous_response_id and conversation exclude each other.', {
    param: 'previous_response_id',
  });
}

function isGiven(value: Json): boolean {
  return value !== undefined && value !== null;
}
