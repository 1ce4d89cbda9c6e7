/** Codex, from a year ago to now, over models of every other protocol: it writes a file and runs a command by tool calls. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { frame, type Said } from '../conformance/answers.ts';
import { IDS, MODELS, protocolOf, speak, TOOL_RESULTS } from '../conformance/rig.ts';
import {
  type Answerer,
  answerEvents,
  KEY,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { codexFolder, codexProgram, execArguments, installCodex, VERSIONS } from './codex.ts';

const NOTE = 'A paper boat on a river.';
const COMMANDS = [`printf '${NOTE}' > note.txt`, 'cat note.txt'];
const SIGNATURE = 'c2lnbmF0dXJl';

/** A name that Codex knows, for which it offers its tools in another way. */
const KNOWN_MODEL = 'gpt-5.6-sol';

let upstream: TestUpstream;
let gateway: TestGateway;
let answerer: Answerer;

before(async () => {
  await installCodex();
  upstream = await startUpstream((call, response) => answerer(call, response));
  const aliases = IDS.map((id) => `    ${KNOWN_MODEL}-${id}: ${MODELS[id]}`).join('\n');
  gateway = await startTestGateway(`
aliases:
    ${KNOWN_MODEL}: ${MODELS.messages}
${aliases}
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, context_length: 32000 }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`);
});
beforeEach(() => {
  upstream.calls.length = 0;
  answerer = work;
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** The tools that an upstream is offered, by name. */
const TOOLS: Record<ProtocolId, (body: Json) => string[]> = {
  chat: ({ tools }) => tools.map((tool: Json) => tool.function.name),
  messages: ({ tools }) => tools.map(({ name }: Json) => name),
  generate: ({ tools }) => tools[0].functionDeclarations.map(({ name }: Json) => name),
};

/** How a command is run by each of the tools for it. */
const SHELLS: Record<string, (command: string) => Json> = {
  exec_command: (cmd) => ({ cmd }),
  shell: (command) => ({ command: ['bash', '-c', command] }),
  shell_command: (command) => ({ command }),
  // A free-text tool in a namespace, which takes a program.
  functions__exec: (cmd) => ({
    input: `// "run"\nconst ran = await tools.exec_command(${JSON.stringify({ cmd })});\ntext(ran);`,
  }),
};

/** A model that runs one command after the other, and tells what came of it. */
const work: Answerer = (call, response) => {
  const protocol = protocolOf(call.path);
  const results = TOOL_RESULTS[protocol](call.body);
  const command = COMMANDS[results.length];
  speak(
    command === undefined ? { text: `It says: ${NOTE}` } : calling(command, results.length, TOOLS[protocol](call.body)),
  )(call, response);
};

function calling(command: string, index: number, offered: string[]): Said {
  const name = offered.find((tool) => Object.hasOwn(SHELLS, tool)) ?? assert.fail(`no shell among ${offered}`);
  const args = SHELLS[name]?.(command);
  return { reasoning: 'I must run it.', signature: SIGNATURE, calls: [{ id: `call_${index}`, name, args }] };
}

const installed = VERSIONS.filter((version) => process.platform !== 'win32' || version === '0.80');

for (const version of installed) {
  describe(`Codex ${version}`, () => {
    for (const protocol of IDS) {
      const models = version === '0.171' ? [MODELS[protocol], `${KNOWN_MODEL}-${protocol}`] : [MODELS[protocol]];
      for (const model of models) {
        test(`writes a file and runs a command with ${model}, over ${protocol}`, async (context) => {
          const program = codexProgram(version) ?? assert.fail(`Codex ${version} is not published for this platform`);
          const folder = codexFolder(context, { url: gateway.url, model });
          const { code, stdout, stderr } = await folder.run(program, execArguments('Write a note and read it.'));
          assert.deepEqual([code, stdout.trim()], [0, `It says: ${NOTE}`], stderr);
          assert.equal(readFileSync(join(folder.work, 'note.txt'), 'utf8'), NOTE);
          assert.equal(upstream.calls.length, 3, 'a request is not repeated');
          const last = upstream.calls[2]?.body;
          assert.match(TOOL_RESULTS[protocol](last)[1] ?? '', new RegExp(NOTE));
          if (protocol !== 'chat') assert.equal(JSON.stringify(last).split(SIGNATURE).length, 3, 'state of both calls');
        });
      }
    }
  });
}

test('an error that no repeat can heal is shown, and not repeated (checklist 96)', async (context) => {
  answerer = (_call, response) =>
    answerEvents(
      response,
      [
        { choices: [{ index: 0, delta: { role: 'assistant', content: 'One' }, finish_reason: null }] },
        { error: { message: 'This is not allowed here.', code: 'content_policy_violation' } },
      ]
        .map((chunk) => frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...chunk }))
        .join(''),
    );
  // The oldest version repeats every failed response but one that is too long.
  for (const version of installed.slice(1)) {
    upstream.calls.length = 0;
    const folder = codexFolder(context, { url: gateway.url, model: MODELS.chat });
    const { code, stderr, stdout } = await folder.run(codexProgram(version) ?? '', execArguments('Hi'));
    assert.match(stderr + stdout, /This is not allowed here\./);
    assert.deepEqual([code, upstream.calls.length], [1, 1], version);
  }
});

test('the list of models is in its own form, with the context of each model', async (context) => {
  for (const version of installed.slice(2)) {
    const key = `[model_providers.polygate.auth]\ncommand = "echo"\nargs = ["${KEY}"]`;
    const folder = codexFolder(context, { url: gateway.url, model: MODELS.chat, key });
    const { stdout, stderr } = await folder.run(codexProgram(version) ?? '', ['debug', 'models']);
    const models: Json[] = JSON.parse(stdout).models;
    const known = models.find(({ slug }) => slug === MODELS.chat) ?? assert.fail(`${version}: ${stderr}`);
    assert.deepEqual([known.context_window, known.visibility], [32_000, 'list']);
  }
});
