/** `polygate completion`: the scripts, asked by a real bash, and by zsh and fish where they are installed. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program } from './program.ts';

async function scriptFile(context: TestContext, shell: string): Promise<{ folder: string; file: string }> {
  const { folder, run } = program(context);
  const { code, stdout, stderr } = await run(['completion', shell]);
  assert.equal(code, 0, stderr);
  const file = join(folder, `completion.${shell}`);
  writeFileSync(file, stdout);
  return { folder, file };
}

/** Words that the shell offers after these; the last one is being typed. */
function offered(words: string[], { folder, file }: { folder: string; file: string }): string[] {
  const line = words.map((word) => `'${word}'`).join(' ');
  const ask = `. '${file}'; COMP_WORDS=(polygate ${line}); COMP_CWORD=${words.length}; _polygate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', ask], { cwd: folder, encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.split('\n').filter((word) => word !== '');
}

test('bash completes commands, their commands, options, choices and files', async (context) => {
  const script = await scriptFile(context, 'bash');
  writeFileSync(join(script.folder, 'my config.yaml'), '');
  mkdirSync(join(script.folder, 'models'));
  const cases: [string[], string[]][] = [
    [['ser'], ['serve']],
    [['co'], ['connect', 'completion']],
    [['keys', 'ro'], ['rotate']],
    [['keys', 'create', '--bud'], ['--budget']],
    [['serve', '--wor'], ['--workers']],
    [['serve', '--workers', ''], []],
    [
      ['connect', ''].slice(0, 2),
      [
        ...['claude', 'codex', 'gemini', 'opencode', 'qwen', 'aider', '--config', '--model', '--small-model', '--key'],
        ...['--url', '--print', '--no-check', '--undo', '--help'],
      ],
    ],
    [
      ['connect', 'claude', '--model', 'a/m', '--u'],
      ['--url', '--undo'],
    ],
    [['route', 'sandbox/echo', '--protocol', 'me'], ['messages']],
    [['completion', 'f'], ['fish']],
    [['check', '--config', 'my'], ['my config.yaml']],
    [['import', 'litellm', 'my'], ['my config.yaml']],
    [['keys', 'show', 'my'], []],
    [['--vers'], ['--version']],
  ];
  for (const [words, expected] of cases) assert.deepEqual(offered(words, script), expected, words.join(' '));
});

test('every command of the help is offered', async (context) => {
  const { run } = program(context);
  const help = (await run(['--help'])).stdout;
  const commands = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
  assert.ok(commands.length > 12);
  const script = await scriptFile(context, 'bash');
  const words = offered([''], script);
  for (const name of commands.filter((each) => each !== 'help')) assert.ok(words.includes(name ?? ''), name);
});

for (const shell of ['zsh', 'fish']) {
  test(`the script for ${shell} is one that ${shell} reads, where it is installed`, async (context) => {
    const { file } = await scriptFile(context, shell);
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') context.skip(`${shell} is not installed`);
    else assert.deepEqual([status, stderr], [0, '']);
  });
}

test('the script for fish has every command under the words before it, with quoted descriptions', async (context) => {
  const { run } = program(context);
  const { stdout } = await run(['completion', 'fish']);
  assert.match(stdout, /^complete -c polygate -n "__polygate_at 'keys'" -a rotate -d '/m);
  assert.match(stdout, /^complete -c polygate -n "__polygate_at 'route'" -l protocol -x -a '[^']*messages[^']*' -d '/m);
  // A value that is no file is not completed as one.
  assert.match(stdout, /^complete -c polygate -n "__polygate_at 'serve'" -l workers -x -d '/m);
  assert.match(stdout, /^complete -c polygate -n "__polygate_at 'check'" -l config -r -F -d '/m);
  assert.match(stdout, /-d 'from a LiteLLM proxy\\'s config\.yaml/);
  // Every quote is closed.
  for (const line of stdout.split('\n')) assert.equal(line.replaceAll("\\'", '').split("'").length % 2, 1, line);
});

test('another shell is refused with the names of those that there are', async (context) => {
  const { code, stderr } = await program(context).run(['completion', 'tcsh']);
  assert.equal(code, 1);
  assert.match(stderr, /bash, zsh, fish/);
});
