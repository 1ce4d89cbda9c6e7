/** Every field of a message request, as the official SDK's types have it, is carried, named as dropped, or refused by name. */

import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS } from '../gateway/harness.ts';
import { type FieldCase, FieldCases, type Samples } from './field-cases.ts';
import { type Exceptions, testFields } from './field-fates.ts';
import { readSdkTypes, SAMPLE } from './sdk-types.ts';

const TYPES = join(import.meta.dirname, 'node_modules/@anthropic-ai/sdk/resources/beta/messages/messages.d.ts');
const sdk = readSdkTypes(TYPES, { BetaCompactionBlockParam: { content: 'Until now' } });

/** Members of a request that are about the gateway's own work, that are headers, or that have their own cases. */
const OWN = ['model', 'stream', 'messages', 'tools', 'betas', 'user_profile_id', 'workspace_id'];
const SCHEMA = { type: 'object', properties: { [SAMPLE]: { type: 'string' } } };

const SAMPLES: Samples = {
  input: [{ [SAMPLE]: SAMPLE }],
  input_schema: [SCHEMA],
  schema: [SCHEMA],
  budget_tokens: [2000],
  url: [`https://example.com/${SAMPLE}.png`],
  data: [Buffer.from(SAMPLE).toString('base64')],
};

const WITHOUT_EFFECT: Exceptions = [
  ['it is the default', /^(metadata|output_config|\S*\.citations) = \{\}$/],
  ['it is the default', /^speed = "standard"$/],
  ['it is the default', /^service_tier = "auto"$/],
  ['it is the default', /^thinking = \{"type":"adaptive"\}$/],
  ['it is the default', /^thinking\.display = "summarized"$/],
  ['it is the default', /^tools\.type = "custom"$/],
  ['it is the default', /^messages\.content\.caller = \{"type":"direct"\}$/],
  ['budgets become efforts, of which there are few', /^thinking\.budget_tokens = 2000$/],
  ['the gateway leaves reasoning out of the answer', /^thinking\.display = "omitted"$/],
  ['reasoning without an envelope belongs to another provider', /^messages\.content\.(signature|thinking|data) = /],
  ['it has one meaning', /^tools\.user_location = \{"type":"approximate"\}$/],
];

const user = (content: Json): Json => ({ role: 'user', content });
const tool = { name: SAMPLE, input_schema: { type: 'object', properties: {} } };
const other = { name: 'other', input_schema: { type: 'object', properties: {} } };
const request = (more: Json): Json => ({ max_tokens: 4000, messages: [user('Hi')], tools: [other], ...more });

function* allCases(): Generator<FieldCase> {
  const cases = new FieldCases(sdk, SAMPLES);
  const members = sdk.membersOf('MessageCreateParamsBase').filter(({ name }) => !OWN.includes(name));
  yield* cases.of(members, {
    path: '',
    base: { max_tokens: 4000 },
    place: (given) => request({ tools: [tool, other], ...given }),
  });
  for (const shape of sdk.shapesOf('BetaContentBlockParam')) {
    const place = (block: Json) => request({ messages: around(block) });
    yield* cases.of(shape.members, { path: `messages.content<${shape.name}>`, base: cases.leastOf(shape), place });
  }
  for (const shape of sdk.shapesOf('BetaToolUnion')) {
    const place = (object: Json) => request({ tools: [object, other] });
    yield* cases.of(shape.members, { path: `tools<${shape.name}>`, base: cases.leastOf(shape), place });
  }
}

/** A conversation with a block of the user or of the model. */
function around(block: Json): Json[] {
  const { type, id, tool_use_id } = block;
  const opening = user('Hi');
  if (type === 'tool_use') {
    const result = { type: 'tool_result', tool_use_id: id, content: 'done' };
    return [opening, { role: 'assistant', content: [block] }, user([result])];
  }
  if (type === 'tool_result') {
    const call = { type: 'tool_use', id: tool_use_id, name: SAMPLE, input: {} };
    return [opening, { role: 'assistant', content: [call] }, user([block])];
  }
  const isModels = /thinking|tool_use|_tool_result|fallback|compaction/.test(type);
  if (!isModels) return [user([block])];
  return [opening, { role: 'assistant', content: [block, { type: 'text', text: 'Hello' }] }, user('And now?')];
}

testFields('messages', {
  protocol: 'messages',
  headers: HEADERS.messages,
  path: () => '/anthropic/v1/messages',
  body: (given, model) => ({ ...given, model }),
  cases: allCases,
  leastCases: 500,
  withoutEffect: WITHOUT_EFFECT,
});

testFields('token counts of messages', {
  protocol: 'messages',
  wires: ['messages'],
  answer: { input_tokens: 1 },
  headers: HEADERS.messages,
  path: () => '/anthropic/v1/messages/count_tokens',
  body: (given, model) => ({ ...given, model }),
  cases: allCases,
  leastCases: 500,
  withoutEffect: [],
});
