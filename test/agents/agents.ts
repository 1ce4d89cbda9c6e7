/**
 * Coding agents, connected by `polygate connect` and run unmodified over models of every other protocol: each writes a file,
 * reads it and runs a command. `npm run test:agents` installs them, and names
 * their folders in the environment.
 */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { program } from '../cli/program.ts';
import { IDS, MODELS, protocolOf, speak, TOOL_RESULTS } from '../conformance/rig.ts';
import {
  type Answerer,
  KEY,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { agents, COMMAND, COUNTED, NOTE, runAgent, type ToolCall } from './programs.ts';

/** The protocol of each agent, whose own models would show nothing. */
const SPOKEN: Record<string, ProtocolId | undefined> = {
  claude: 'messages',
  gemini: 'generate',
  opencode: 'chat',
  qwen: 'chat',
  aider: 'chat',
};
const DONE = 'The note is written.';

let upstream: TestUpstream;
let gateway: TestGateway;
let answerer: Answerer;

before(async () => {
  upstream = await startUpstream((call, response) => answerer(call, response));
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, context_length: 200000 }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m, context_length: 200000 }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m, context_length: 200000 }] }
`);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Works through the calls in the main conversation, which has the tools; everything else gets a short text. */
function working(steps: ToolCall[], results: Map<number, string>): Answerer {
  return (call, response) => {
    const protocol = protocolOf(call.path);
    const offered = JSON.stringify(call.body.tools ?? []);
    const got = TOOL_RESULTS[protocol](call.body);
    const step = steps[got.length];
    for (const [index, result] of got.entries()) results.set(index, result);
    const isMain = offered.includes(`"${steps[0]?.name}"`);
    const said = isMain && step ? { calls: [{ id: `call_${got.length}`, ...step }] } : { text: DONE };
    speak(said)(call, response);
  };
}

/** An agent without tools writes files by text, and sends the output of a command that fails. */
const editing: Answerer = (call, response) => {
  const asked = JSON.stringify(call.body);
  const text = asked.includes('the-check-failed') ? DONE : `note.txt\n\`\`\`\n${NOTE}\n\`\`\`\n`;
  speak({ text })(call, response);
};

for (const agent of agents()) {
  describe(agent.id, () => {
    for (const protocol of IDS.filter((id) => id !== SPOKEN[agent.id])) {
      test(`writes a file, reads it and runs a command, over ${protocol}`, { timeout: 240_000 }, async (context) => {
        const home = mkdtempSync(join(tmpdir(), `polygate-${agent.id}-`));
        context.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
        const work = join(home, 'work');
        mkdirSync(work);
        answerer = speak({ text: 'OK' });
        const connected = await program(context).run(
          ['connect', agent.id, '--model', MODELS[protocol], '--url', gateway.url],
          { HOME: home, USERPROFILE: home, POLYGATE_KEY: KEY },
        );
        assert.equal(connected.code, 0, connected.stderr);
        upstream.calls.length = 0;

        const results = new Map<number, string>();
        const steps = agent.steps?.(work) ?? [];
        answerer = agent.steps ? working(steps, results) : editing;
        if (!agent.steps) writeFileSync(join(work, 'note.txt'), 'empty\n');
        const check = ['--auto-test', '--test-cmd', `${COMMAND}; echo the-check-failed; exit 1`];
        const run = await runAgent(agent.steps ? agent : { ...agent, args: [...check, ...agent.args] }, { home, work });
        const said = `${run.stdout}\n${run.stderr}`;
        assert.equal(run.code, 0, said);
        assert.equal(readFileSync(join(work, 'note.txt'), 'utf8').trim(), NOTE, said);
        assert.ok(said.includes(DONE), said);
        if (agent.steps) {
          assert.equal(results.size, 3, said);
          assert.ok(results.get(1)?.includes(NOTE), results.get(1));
          assert.ok(results.get(2)?.includes(COUNTED), results.get(2));
        } else {
          const last = JSON.stringify(upstream.calls.at(-1)?.body);
          assert.ok(last.includes(NOTE) && last.includes('the-check-failed'), said);
        }
      });
    }
  });
}
