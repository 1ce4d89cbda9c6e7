/** Snippets that send a request to this gateway, for programs and libraries. */

export const PROGRAMS = [
  ...(['curl', 'OpenAI', 'Anthropic', 'Gemini', 'AI SDK', 'LangChain'] as const),
  ...(['Claude Code', 'Codex', 'Gemini CLI', 'OpenCode'] as const),
] as const;
export type Program = (typeof PROGRAMS)[number];

/** The one that an address names. */
export const programOf = (name: string | undefined): Program => PROGRAMS.find((one) => one === name) ?? 'curl';

/** Language of the snippet. */
export const LANGUAGE_OF = {
  curl: 'shell',
  OpenAI: 'python',
  Anthropic: 'python',
  Gemini: 'javascript',
  'AI SDK': 'javascript',
  LangChain: 'python',
  'Claude Code': 'shell',
  Codex: 'shell',
  'Gemini CLI': 'shell',
  OpenCode: 'shell',
} as const satisfies Record<Program, string>;

interface SnippetOptions {
  origin: string;
  model: string;
  /** The key, or the name of a variable with it, which begins with `$`. */
  key: string;
}

export function snippetOf(program: Program, options: SnippetOptions): string {
  return SNIPPETS[program](options);
}

const inShell = (key: string) => `"${key}"`;
const inScript = (key: string) => (key.startsWith('$') ? `process.env.${key.slice(1)}` : `'${key}'`);
const inPython = (key: string) => (key.startsWith('$') ? `os.environ["${key.slice(1)}"]` : `"${key}"`);

const SNIPPETS: Record<Program, (options: SnippetOptions) => string> = {
  curl: ({ origin, model, key }) => `curl ${origin}/v1/chat/completions \\
  -H ${inShell(`Authorization: Bearer ${key}`)} \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
  OpenAI: ({ origin, model, key }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=${inPython(key)})
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
  Anthropic: ({ origin, model, key }) => `import os
from anthropic import Anthropic

client = Anthropic(base_url="${origin}/anthropic", api_key=${inPython(key)})
message = client.messages.create(
    model="${model}",
    max_tokens=200,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
  Gemini: ({ origin, model, key }) => `import { GoogleGenAI } from '@google/genai';

const client = new GoogleGenAI({
  apiKey: ${inScript(key)},
  httpOptions: { baseUrl: '${origin}/gemini' },
});
const answer = await client.models.generateContent({ model: '${model}', contents: 'Hello' });
console.log(answer.text);`,
  'AI SDK': ({ origin, model, key }) => `import { createOpenAI } from '@ai-sdk/openai';
import { generateText } from 'ai';

const gateway = createOpenAI({ baseURL: '${origin}/v1', apiKey: ${inScript(key)} });
const { text } = await generateText({ model: gateway.chat('${model}'), prompt: 'Hello' });
console.log(text);`,
  LangChain: ({ origin, model, key }) => `import os
from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model="${model}",
    base_url="${origin}/v1",
    api_key=${inPython(key)},
)
print(model.invoke("Hello").content)`,
  'Claude Code': ({ origin, model, key }) => `export ANTHROPIC_BASE_URL=${origin}/anthropic
export ANTHROPIC_AUTH_TOKEN=${inShell(key)}
claude --model ${model}`,
  Codex: ({ origin, model, key }) => `export POLYGATE_KEY=${inShell(key)}
codex -c model_provider=polygate \\
  -c model_providers.polygate.name=Polygate \\
  -c model_providers.polygate.base_url=${origin}/v1 \\
  -c model_providers.polygate.env_key=POLYGATE_KEY \\
  -c model_providers.polygate.wire_api=responses \\
  --model ${model}`,
  'Gemini CLI': ({ origin, model, key }) => `export GOOGLE_GEMINI_BASE_URL=${origin}/gemini
export GEMINI_API_KEY=${inShell(key)}
gemini --model ${model}`,
  OpenCode: ({ origin, model, key }) => `export POLYGATE_KEY=${inShell(key)}
export OPENCODE_CONFIG_CONTENT='{
  "provider": {
    "polygate": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "${origin}/v1", "apiKey": "{env:POLYGATE_KEY}" },
      "models": { "${model}": {} }
    }
  }
}'
opencode --model polygate/${model}`,
};
