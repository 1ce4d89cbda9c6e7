/** Every field of a request and of its items, as the official SDK's types have them, is carried, named as dropped, or refused by name. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post } from '../gateway/harness.ts';
import { askOnce, type FieldCase, FieldCases, plainPath, type Samples } from './field-cases.ts';
import { testFields } from './field-fates.ts';
import { type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { readSdkTypes, SAMPLE } from './sdk-types.ts';

const TYPES = join(import.meta.dirname, 'node_modules/openai/resources/responses/responses.d.ts');
const sdk = readSdkTypes(TYPES);
const WIRES = ['chat', 'messages', 'generate'] as const;

/** Members of a request that are about the gateway's own work, with their own tests. */
const OWN = ['model', 'stream', 'store', 'background', 'previous_response_id', 'conversation', 'input', 'tools'];

/** What has no effect elsewhere, and why, by its path and value. */
const WITHOUT_EFFECT: [why: string, what: RegExp][] = [
  ['it is the default', /^truncation = "disabled"$/],
  ['it is the default', /^(reasoning|text|stream_options|input\.reasoning|\S*\.filters|\S*\.user_location) = \{\}$/],
  ['it is the default', /^reasoning\.(summary|generate_summary) = "auto"$/],
  ['it is the default', /^reasoning\.mode = "standard"$/],
  ['it is the default', /^parallel_tool_calls = true$/],
  ['it is the default', /^service_tier = "auto"$/],
  ['it is the default', /\bformat = \{"type":"text"\}$/],
  ['it is the default', /^input\.text = \{"format":\{"type":"text"\}\}$/],
  ['it is the default', /\.environment = \{"type":"local"\}$/],
  ['it is the default', /\.external_web_access = true$/],
  ['it is the default', /^input\.type = "message"$/],
  ['the model itself is the caller everywhere', /^input\.caller = \{"type":"direct"\}$/],
  ['it identifies an item at its own server', /^input\.id = /],
  ['only incomplete items differ', /^input\.status = "(in_progress|completed)"$/],
  ['the names of web search mean the same', /\.type = "web_search\w*"$/],
  ['it has one meaning', /\.user_location(\.type = "approximate"| = \{"type":"approximate"\})$/],
  ['it is about the response', /^include = \["reasoning\.encrypted_content"\]$/],
  ['there are no logprobs without include', /^top_logprobs = 1$/],
  ['a schema needs no name elsewhere', /\bformat\.name = /],
  ['schemas are always strict elsewhere', /\bformat\.strict = true$/],
  [
    'reasoning without an envelope belongs to another provider',
    /^input\.(summary|content|encrypted_content)(\.text)? = /,
  ],
  ['it tells how a picture was made', /^input\.action = "(auto|edit|generate)"$/],
  ['pictures are PNG unless they say otherwise', /^input\.output_format = "png"$/],
  ['a message of the system in between is one of the user', /^input\.role = "user"$/],
];

const SAMPLES: Samples = {
  arguments: [`{"a":"${SAMPLE}"}`],
  parameters: [{ type: 'object', properties: { [SAMPLE]: { type: 'string' } } }],
  schema: [{ type: 'object', properties: { [SAMPLE]: { type: 'string' } } }],
};

const cases = new FieldCases(sdk, SAMPLES);

const user = (content: Json): Json => ({ role: 'user', content });
/** The tool that a choice names. */
const tool = { type: 'function', name: SAMPLE, parameters: { type: 'object', properties: {} }, strict: false };
const request = (more: Json): Json => ({ input: [user('Hi')], tools: [{ ...tool, name: 'other' }], ...more });

function* allCases(): Generator<FieldCase> {
  const members = sdk.membersOf('ResponseCreateParamsBase').filter(({ name }) => !OWN.includes(name));
  yield* cases.of(members, { path: '', base: {}, place: (given) => request({ tools: [tool], ...given }) });
  for (const shape of sdk.shapesOf('ResponseInputItem')) {
    const base = cases.leastOf(shape);
    const type = base.type ?? 'message';
    yield* cases.of(shape.members, {
      path: `input<${shape.name}>`,
      base,
      place: (item) => request({ input: [user('Hi'), ...callOf(type, item), item, ...outputOf(type, item)] }),
    });
  }
  for (const shape of sdk.shapesOf('Tool')) {
    yield* cases.of(shape.members, {
      path: `tools<${shape.name}>`,
      base: cases.leastOf(shape),
      place: (object) => request({ tools: [object, { ...tool, name: 'other' }] }),
    });
  }
}

/** The call that an output belongs to. */
function callOf(type: string, { call_id = SAMPLE }: Json): Json[] {
  if (!type.endsWith('_output')) return [];
  const call = sdk
    .shapesOf('ResponseInputItem')
    .map(sdk.leastOf)
    .find((item) => item.type === type.replace('_output', ''));
  return call ? [{ ...call, call_id }] : [];
}

/** Models refuse a call without an output. */
function outputOf(type: string, { call_id }: Json): Json[] {
  const isCall = ['function_call', 'custom_tool_call'].includes(type);
  return isCall ? [{ type: `${type}_output`, call_id, output: 'done' }] : [];
}

/** Whether the name of something that was dropped is that of the member, of an object around it, or of its whole item or tool. */
function isAbout(name: string, { path, given }: FieldCase): boolean {
  const plain = plainPath(path);
  if ([plain, plain.replace('input.', '')].some((at) => at === name || at.startsWith(`${name}.`))) return true;
  if (plain.split('.').includes(name)) return true;
  if (name === 'input.content.image') return path.includes('ImageGenerationCall');
  const [list, type] = name.split('.');
  const isInside = plain.startsWith(`${list}.`) || plain.startsWith(`input.${list}.`);
  return name === `${list}.${type}` && isInside && JSON.stringify(given).includes(`"type":"${type}`);
}

interface Outcome {
  /** The error's place in the body. */
  refused?: string;
  dropped: string[];
  sent?: string;
  response?: Json;
}

/** Exceptions that were met. */
const used = new Set<(typeof WITHOUT_EFFECT)[number]>();

for (const wire of WIRES) {
  describe(`over ${wire}`, () => {
    let gateway: ProvidedGateway;
    const outcomeOf = askOnce(ask);

    before(async () => {
      gateway = await startProvidedGateway([{ text: 'Hello' }]);
    });
    after(() => gateway.close());

    async function ask(body: Json): Promise<Outcome> {
      const response = await post(`${gateway.url}/v1/responses`, { ...body, model: `${wire}/m` }, HEADERS.chat);
      const answer: Json = await response.json();
      const dropped = (response.headers.get('x-polygate-dropped') ?? '').split(', ').filter(Boolean);
      if (response.status === 400) return { refused: answer.error.param ?? '', dropped };
      assert.equal(response.status, 200, JSON.stringify([body, answer]));
      const { id: _id, created_at: _created, completed_at: _completed, output: _output, ...rest } = answer;
      return { dropped, sent: gateway.lastCall(wire)?.bytes.toString() ?? '', response: rest };
    }

    test('no field is lost in silence (checklist 115)', { timeout: 600_000 }, async (context) => {
      const lost = new Set<string>();
      let count = 0;
      for (const one of allCases()) {
        count += 1;
        const given = await outcomeOf(one.given);
        const other = await outcomeOf(one.other);
        // Refused by name.
        if (given.refused !== undefined) assert.notEqual(given.refused, '', JSON.stringify(one));
        if (given.refused !== undefined || given.sent !== other.sent) continue;
        if (given.dropped.some((name) => !other.dropped.includes(name) || isAbout(name, one))) continue;
        const place = `${plainPath(one.path)} = ${JSON.stringify(one.value)}`;
        const reason = WITHOUT_EFFECT.find(([, what]) => what.test(place));
        if (reason) used.add(reason);
        else lost.add(`${one.path} = ${JSON.stringify(one.value)}`);
      }
      context.diagnostic(`${count} cases`);
      assert.deepEqual([...lost], []);
      assert.ok(count > 1000);
    });
  });
}

test('every exception is one', () => {
  assert.deepEqual(
    WITHOUT_EFFECT.filter((reason) => !used.has(reason)),
    [],
  );
});

/** Without those that name what the gateway itself would have to store. */
function* relayedCases(): Generator<FieldCase> {
  for (const one of allCases()) if (!/ItemReference|comparison_response_id/.test(one.path)) yield one;
}

testFields('Responses', {
  protocol: 'responses',
  wires: ['responses'],
  answer: { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [] },
  headers: HEADERS.chat,
  path: () => '/v1/responses',
  body: (given, model) => ({ ...given, model }),
  cases: relayedCases,
  leastCases: 1000,
  withoutEffect: [],
});
