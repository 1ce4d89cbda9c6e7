/** Coding agents as they are published, each in a home of its own, and the words in which each offers its tools. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';

export const NOTE = 'A paper boat on a river.';
export const PROMPT = 'Write a note, read it and run it through a command.';
const TIMEOUT_MS = 120_000;

/** One step of the work, in the words of a program's tool. */
export type ToolCall = { name: string; args: Json };

export interface Agent {
  /** As `polygate connect` calls it. */
  id: string;
  /** The program and its first arguments. */
  command: string[];
  /** Arguments of a run without a person. */
  args: string[];
  environment?: Record<string, string>;
  /** The calls that write the note, read it and run a command; by none of them an agent without tools. */
  steps?(folder: string): ToolCall[];
}

export const COMMAND = 'wc -c < note.txt';
/** The bytes of the note, as the command prints them. */
export const COUNTED = String(NOTE.length);

/** A program that is not there is a failure: its test is not left out. */
function installed(...path: string[]): string {
  const file = join(process.env.POLYGATE_AGENTS ?? '', ...path);
  assert.ok(existsSync(file), `${file} is not installed`);
  return file;
}

const gemini = (folder: string): ToolCall[] => [
  { name: 'write_file', args: { file_path: join(folder, 'note.txt'), content: NOTE } },
  { name: 'read_file', args: { file_path: join(folder, 'note.txt') } },
  { name: 'run_shell_command', args: { command: COMMAND, description: 'counts', is_background: false } },
];

export function agents(): Agent[] {
  return [
    {
      id: 'claude',
      command: [process.execPath, installed('@anthropic-ai', 'claude-code', 'cli-wrapper.cjs')],
      args: ['-p', PROMPT, '--allowedTools', 'Write,Read,Bash'],
      environment: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
      steps: (folder) => [
        { name: 'Write', args: { file_path: join(folder, 'note.txt'), content: NOTE } },
        { name: 'Read', args: { file_path: join(folder, 'note.txt') } },
        { name: 'Bash', args: { command: COMMAND, description: 'counts' } },
      ],
    },
    {
      id: 'codex',
      command: [process.execPath, installed('@openai', 'codex', 'bin', 'codex.js')],
      args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', PROMPT],
      steps: () =>
        [`printf '${NOTE}' > note.txt`, 'cat note.txt', COMMAND].map((cmd) => ({
          name: 'exec_command',
          args: { cmd },
        })),
    },
    {
      id: 'gemini',
      command: [process.execPath, installed('@google', 'gemini-cli', 'bundle', 'gemini.js')],
      args: ['--approval-mode', 'yolo', '--skip-trust', '-p', PROMPT],
      steps: gemini,
    },
    {
      id: 'opencode',
      command: [installed('opencode-linux-x64', 'bin', 'opencode')],
      args: ['run', PROMPT],
      environment: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' },
      steps: (folder) => [
        { name: 'write', args: { filePath: join(folder, 'note.txt'), content: NOTE } },
        { name: 'read', args: { filePath: join(folder, 'note.txt') } },
        { name: 'bash', args: { command: COMMAND, description: 'counts' } },
      ],
    },
    {
      id: 'qwen',
      command: [process.execPath, installed('@qwen-code', 'qwen-code', 'cli.js')],
      args: ['--approval-mode', 'yolo', '-p', PROMPT],
      steps: gemini,
    },
    {
      id: 'aider',
      command: [process.env.POLYGATE_AIDER ?? assert.fail('POLYGATE_AIDER names no program')],
      args: [
        '--yes-always',
        '--no-git',
        '--no-check-update',
        '--no-show-release-notes',
        '--message',
        PROMPT,
        'note.txt',
      ],
    },
  ];
}

export interface AgentRun {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the program with nothing of the surroundings but the path; the internet is out of its reach. */
export function runAgent(
  { command, args, environment }: Agent,
  { home, work }: { home: string; work: string },
): Promise<AgentRun> {
  const [program = '', ...first] = command;
  const nowhere = 'http://127.0.0.1:1';
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    USERPROFILE: home,
    HTTPS_PROXY: nowhere,
    HTTP_PROXY: nowhere,
    NO_PROXY: '127.0.0.1',
    ...environment,
  };
  return new Promise((resolve) => {
    const options = { cwd: work, env, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' as const, maxBuffer: 1 << 24 };
    const child = execFile(program, [...first, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
    child.stdin?.end();
  });
}
