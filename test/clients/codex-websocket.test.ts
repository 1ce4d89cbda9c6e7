/** Codex over a WebSocket: its preparation without an answer, and a loop of tools that continues what the connection remembers. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { speak } from '../conformance/rig.ts';
import { startTestGateway, startUpstream } from '../gateway/harness.ts';
import { codexFolder, codexProgram, execArguments, installCodex } from './codex.ts';

const VERSION = '0.171';
const NOTE = 'A paper boat on a river.';

before(installCodex);

test(`Codex ${VERSION} with supports_websockets`, { timeout: 90_000 }, async (context) => {
  const program = codexProgram(VERSION);
  if (!program) return context.skip(`Codex ${VERSION} is not published for this platform`);
  const upstream = await startUpstream((call, response) => {
    const isDone = call.body.messages.some(({ role }: Json) => role === 'tool');
    const read = { id: 'call_1', name: 'exec_command', args: { cmd: 'cat note.txt' } };
    return speak(isDone ? { text: `It says: ${NOTE}` } : { calls: [read] })(call, response);
  });
  const gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
  );
  const key = 'env_key = "POLYGATE_KEY"\nsupports_websockets = true';
  const folder = codexFolder(context, { url: gateway.url, model: 'a/m', key });
  writeFileSync(join(folder.work, 'note.txt'), NOTE);
  const { code, stdout, stderr } = await folder.run(program, execArguments('What does note.txt say?'));
  await gateway.close();
  await upstream.close();
  assert.equal(code, 0, stderr);
  assert.ok(stdout.includes(`It says: ${NOTE}`), stdout);
  assert.equal(upstream.calls.length, 2);
  assert.match(JSON.stringify(upstream.calls[1]?.body.messages), /A paper boat on a river\./);
  const routes = gateway.log
    .filter(({ msg }) => msg === 'answered')
    .map(({ route, httpStatus }) => [route, httpStatus]);
  const [prepared, , , connection] = routes;
  assert.deepEqual(
    [prepared, connection],
    [
      ['inference.complete', 200],
      ['inference.connect', 101],
    ],
  );
});
