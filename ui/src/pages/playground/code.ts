/** The request of a run as a program: for a shell, and with the library of its protocol. */

import { quoted } from '../../shell.ts';
import type { Wire } from './protocols.ts';
import { POLICY_HEADER, type WireRequest } from './wires.ts';

export const PROGRAMS = ['curl', 'Python', 'JavaScript'] as const;
export type ProgramName = (typeof PROGRAMS)[number];

export const LANGUAGES = { curl: 'shell', Python: 'python', JavaScript: 'javascript' } as const;

export interface CodeOptions {
  wire: Wire;
  sent: WireRequest;
  model: string;
  origin: string;
}

export function codeOf(program: ProgramName, options: CodeOptions): string {
  return { curl: inShell, Python: inPython, JavaScript: inJavaScript }[program](options);
}

const CREDENTIALS: Record<Wire, string> = {
  chat: 'Authorization: Bearer $POLYGATE_KEY',
  messages: 'x-api-key: $POLYGATE_KEY',
  generate: 'x-goog-api-key: $POLYGATE_KEY',
  responses: 'Authorization: Bearer $POLYGATE_KEY',
};

function inShell({ wire, sent, origin }: CodeOptions): string {
  const version = wire === 'messages' ? `  -H "anthropic-version: 2023-06-01" \\\n` : '';
  const policy = sent.policy === undefined ? '' : `  -H ${quoted(`${POLICY_HEADER}: ${sent.policy}`)} \\\n`;
  return `curl -N '${origin}${sent.path}' \\
  -H "${CREDENTIALS[wire]}" \\
${version}${policy}  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(sent.body))}`;
}

/** Base URL of the library: the address before the path that it adds. */
function baseOf({ wire, sent, origin }: CodeOptions): string {
  const ends = {
    chat: '/chat/completions',
    messages: '/v1/messages',
    generate: /\/v1beta\/.*$/,
    responses: '/responses',
  };
  return origin + sent.path.replace(ends[wire], '');
}

/** Members of the library's call: those of generate are in one object, but for the contents. */
function callOf({ wire, sent: { body }, model }: CodeOptions): Record<string, unknown> {
  if (wire !== 'generate') return body;
  const { contents, generationConfig, ...rest } = body;
  return { model, contents, config: { ...(generationConfig as object | undefined), ...rest } };
}

/** Member of the options of a client, the same in both languages but for its name. */
function headersOf({ sent: { policy } }: CodeOptions, name: string): string {
  return policy === undefined ? '' : `, ${name}: {"${POLICY_HEADER}": ${JSON.stringify(policy)}}`;
}

function isStream({ wire, sent }: CodeOptions): boolean {
  return wire === 'generate' ? sent.path.includes(':stream') : sent.body.stream === true;
}

function inPython(options: CodeOptions): string {
  const base = JSON.stringify(baseOf(options));
  const key = 'os.environ["POLYGATE_KEY"]';
  const members = Object.entries(callOf(options))
    .map(([name, value]) => `    ${name}=${pythonOf(value, 1)},`)
    .join('\n');
  const loop = isStream(options) ? '\nfor part in answer:\n    print(part)' : '\nprint(answer)';
  switch (options.wire) {
    case 'messages':
      return `import os\nfrom anthropic import Anthropic\n\nclient = Anthropic(base_url=${base}, api_key=${key})\nanswer = client.messages.create(\n${members}\n)${loop}`;
    case 'generate': {
      const name = isStream(options) ? 'generate_content_stream' : 'generate_content';
      return `import os\nfrom google import genai\n\nclient = genai.Client(api_key=${key}, http_options={"base_url": ${base}${headersOf(options, '"headers"')}})\nanswer = client.models.${name}(\n${members}\n)${loop}`;
    }
    default: {
      const name = options.wire === 'chat' ? 'chat.completions' : 'responses';
      return `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url=${base}, api_key=${key})\nanswer = client.${name}.create(\n${members}\n)${loop}`;
    }
  }
}

function inJavaScript(options: CodeOptions): string {
  const base = `'${baseOf(options)}'`;
  const key = 'process.env.POLYGATE_KEY';
  const members = JSON.stringify(callOf(options), undefined, 2).replace(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:');
  const loop = isStream(options) ? '\nfor await (const part of answer) console.log(part);' : '\nconsole.log(answer);';
  switch (options.wire) {
    case 'messages':
      return `import Anthropic from '@anthropic-ai/sdk';\n\nconst client = new Anthropic({ baseURL: ${base}, apiKey: ${key} });\nconst answer = await client.messages.create(${members});${loop}`;
    case 'generate': {
      const name = isStream(options) ? 'generateContentStream' : 'generateContent';
      return `import { GoogleGenAI } from '@google/genai';\n\nconst client = new GoogleGenAI({ apiKey: ${key}, httpOptions: { baseUrl: ${base}${headersOf(options, 'headers')} } });\nconst answer = await client.models.${name}(${members});${loop}`;
    }
    default: {
      const name = options.wire === 'chat' ? 'chat.completions' : 'responses';
      return `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: ${base}, apiKey: ${key} });\nconst answer = await client.${name}.create(${members});${loop}`;
    }
  }
}

/** A JSON value as Python writes it. */
function pythonOf(value: unknown, depth: number): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const indent = '    '.repeat(depth);
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((one) => pythonOf(one, depth + 1))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one, depth + 1)}`);
  const [open, close] = isList ? '[]' : '{}';
  if (parts.length === 0) return `${open}${close}`;
  return `${open}\n${parts.map((part) => `${indent}    ${part},\n`).join('')}${indent}${close}`;
}
