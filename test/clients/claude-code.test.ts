/** Claude Code as it is published, over models of another vendor and of two protocols: docs/recipes/claude-code.md, followed to the letter. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import type { Json } from '../../src/core/json/json.ts';
import { codeIn } from '../docs/markdown.ts';
import { openPage } from '../docs/page.ts';
import { startProvider } from './upstreams.ts';

interface Installer {
  installPackages(folder: string, mode: string, what: string): Promise<void>;
}

const DOCUMENT = 'docs/recipes/claude-code.md';
const PACKAGES = join(import.meta.dirname, 'claude-code');
const PROGRAM = join(PACKAGES, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs');
const NOTE = 'A paper boat on a river.';
const TIMEOUT_MS = 90_000;

before(async () => {
  const installer: Installer = await import(new URL('../../scripts/install.mjs', import.meta.url).href);
  await installer.installPackages(PACKAGES, 'all', 'Claude Code');
});

for (const protocol of ['chat', 'responses'] as const) {
  test(`it reads a file by a tool call of a model of ${protocol}, and answers with what stands there`, {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const args: Json = {};
    const call = { id: 'call_1', name: 'Read', args };
    const upstream = await startProvider(protocol, [
      { thought: 'I read it.', signature: 'c2lnbmF0dXJl', calls: [call] },
      { text: `It says: ${NOTE}` },
    ]);
    context.after(() => upstream.close());
    const models = ['gpt-5', 'gpt-5-mini'].map((id) => ({ id, rules: { protocols: [protocol] } }));
    const page = openPage(context, DOCUMENT, {
      upstreams: { openai: `${upstream.url}/v1` },
      members: { openai: { models } },
      environment: { OPENAI_API_KEY: 'openai-key' },
    });
    args.file_path = join(page.folder, 'note.txt');
    writeFileSync(args.file_path, NOTE);
    const { url, key } = await page.start();
    const [script = ''] = codeIn(DOCUMENT, 'sh');
    const { stdout } = await promisify(execFile)('sh', ['-c', script.replace('http://127.0.0.1:8080', url)], {
      cwd: page.folder,
      env: {
        PATH: [commandIn(page.folder), process.env.PATH].join(delimiter),
        HOME: page.folder,
        POLYGATE_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    });
    assert.equal(stdout.trim(), `It says: ${NOTE}`);
    const [asked, answered] = upstream.calls.slice(-2).map(({ body }) => body);
    assert.equal(asked.model, 'gpt-5');
    assert.ok(asked.stream && asked.tools.some((tool: Json) => (tool.function ?? tool).name === 'Read'));
    const result = (answered.messages ?? answered.input).findLast(isResult);
    assert.equal(result.tool_call_id ?? result.call_id, 'call_1');
    assert.match(JSON.stringify(result.content ?? result.output), /A paper boat on a river\./);
    const path = protocol === 'chat' ? '/v1/chat/completions' : '/v1/responses';
    assert.ok(upstream.calls.every((one) => one.path === path));
  });
}

function isResult({ role, type }: Json): boolean {
  return role === 'tool' || type === 'function_call_output';
}

/** A folder with a command `claude`, as an installation for all users would have it. */
function commandIn(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const command = join(bin, 'claude');
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@" </dev/null\n`);
  chmodSync(command, 0o700);
  return bin;
}
