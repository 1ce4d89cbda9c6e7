/** Schemas of the items and content parts of a Responses request, by type, and the parts that each place takes. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { MAX_ID_CHARACTERS, MAX_MEDIA_TYPE_CHARACTERS, MAX_NAME_CHARACTERS } from '../../core/lengths.ts';

const OptionalString = Type.Optional(Type.String());
const Open = Type.Object({});
const Id = Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS });
const OptionalId = Type.Optional(Type.String({ maxLength: MAX_ID_CHARACTERS }));
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });
const OptionalName = Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS }));

const Typed = Type.Object({ type: Type.String() });
const Content = Type.Union([Type.String(), Type.Array(Typed)]);
const Tools = Type.Array(Typed);
const Texts = Type.Optional(Type.Array(Type.Object({ text: OptionalString })));
const Result = Type.Object({ call_id: Id, output: Content });

const TextPart = Type.Object({ text: Type.String() });
const ImagePart = Type.Object({
  image_url: OptionalString,
  file_id: OptionalId,
  detail: Type.Optional(Type.Enum(['low', 'high', 'auto', 'original'])),
});

export const PARTS: Record<string, TSchema> = {
  input_text: TextPart,
  output_text: TextPart,
  text: TextPart,
  refusal: Type.Object({ refusal: Type.String() }),
  input_image: ImagePart,
  input_file: Type.Object({
    file_data: OptionalString,
    file_url: OptionalString,
    file_id: OptionalId,
    filename: OptionalName,
  }),
  input_audio: Type.Object({
    input_audio: Type.Object({
      data: Type.String(),
      format: Type.String({ maxLength: MAX_MEDIA_TYPE_CHARACTERS }),
    }),
  }),
};

const TEXTS = ['input_text', 'output_text', 'text'];
const MEDIA = ['input_image', 'input_file'];

/** Parts in a tool's output. */
export const OUTPUT_PARTS: readonly string[] = [...TEXTS, ...MEDIA];

/** Parts in a message, by role. */
export const MESSAGE_PARTS: Record<string, readonly string[]> = {
  user: [...TEXTS, ...MEDIA, 'input_audio'],
  system: TEXTS,
  developer: TEXTS,
  assistant: [...TEXTS, 'refusal'],
};

const ROLES: readonly string[] = Object.keys(MESSAGE_PARTS);

/** Work of tools that ran at the provider. */
export const HOSTED_ITEMS: readonly string[] = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'program',
  'program_output',
];

export const ITEMS: Record<string, TSchema> = {
  message: Type.Object({ role: Type.Enum([...ROLES]), content: Content }),
  function_call: Type.Object({ call_id: Id, name: Name, namespace: OptionalName, arguments: Type.String() }),
  function_call_output: Result,
  custom_tool_call: Type.Object({ call_id: Id, name: Name, namespace: OptionalName, input: Type.String() }),
  custom_tool_call_output: Result,
  reasoning: Type.Object({ summary: Texts, content: Texts, encrypted_content: OptionalString }),
  compaction: Type.Object({ encrypted_content: OptionalString }),
  compaction_trigger: Open,
  configuration_update: Type.Object({
    reasoning: Type.Optional(Type.Object({ effort: OptionalString })),
    text: Type.Optional(Type.Object({ format: Type.Optional(Typed) })),
  }),
  additional_tools: Type.Object({ tools: Tools }),
  tool_search_call: Open,
  tool_search_output: Type.Object({ tools: Type.Optional(Tools) }),
  shell_call: Type.Object({ call_id: Id, action: Open }),
  shell_call_output: Type.Object({ call_id: Id, output: Type.Union([Type.String(), Type.Array(Open)]) }),
  local_shell_call: Type.Object({ call_id: Id, action: Open }),
  local_shell_call_output: Type.Object({ id: OptionalId, call_id: OptionalId, output: Type.String() }),
  apply_patch_call: Type.Object({ call_id: Id, operation: Open }),
  apply_patch_call_output: Type.Object({ call_id: Id, output: OptionalString }),
  computer_call: Type.Object({ call_id: Id }),
  computer_call_output: Type.Object({ call_id: Id, output: ImagePart }),
  image_generation_call: Type.Object({ result: OptionalString, output_format: OptionalName }),
  ...Object.fromEntries(HOSTED_ITEMS.map((type) => [type, Open])),
};
