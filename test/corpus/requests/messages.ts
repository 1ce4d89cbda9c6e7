/** A messages request, as its upstream reads it. */

import type { Json } from '../../../src/core/json/json.ts';
import { canonical } from '../answer.ts';
import { type Asked, addFormat, addTool, emptyAsked, resultOf, type Settings, words } from '../asked.ts';

export function readMessagesRequest(body: Json): Asked {
  const asked = emptyAsked();
  asked.system = blocksOf(body.system).map(({ text }) => words(text));
  for (const { role, content } of body.messages ?? [])
    for (const block of blocksOf(content)) readBlock(asked, role, block);
  for (const { name, description, input_schema: schema } of body.tools ?? [])
    addTool(asked, { name, description, schema });
  asked.settings = settingsOf(body);
  const format = body.output_config?.format ?? body.output_format;
  if (format?.schema) addFormat(asked, format.schema);
  return asked;
}

function blocksOf(content: Json): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

function readBlock(asked: Asked, role: 'system' | 'user' | 'assistant', block: Json): void {
  switch (block.type) {
    case 'text':
      asked[role].push(words(block.text));
      return;
    case 'compaction':
      asked[role].push(words(block.content));
      return;
    case 'tool_use':
      asked.calls.push(`${block.name} ${canonical(block.input)}`);
      return;
    case 'tool_result': {
      const inner = blocksOf(block.content);
      asked.results.push(resultOf(inner.map(textOf).join('')));
      for (const more of inner) if (textOf(more) === '') readBlock(asked, role, more);
      return;
    }
    case 'image':
    case 'document': {
      const { data, url, file_id } = block.source ?? {};
      if (block.source?.type === 'text') asked[role].push(words(data));
      else asked.media.push(`${block.type} ${data?.length ?? url ?? file_id}`);
    }
  }
}

/** What a block of a result says in words. */
function textOf({ text, source, content }: Json): string {
  if (source?.type === 'text') return source.data;
  return text ?? (Array.isArray(content) ? content.map(textOf).join('') : '');
}

function settingsOf(body: Json): Settings {
  const settings: Settings = {
    maxTokens: body.max_tokens,
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    topK: body.top_k ?? undefined,
    stop: body.stop_sequences?.length ? body.stop_sequences.join() : undefined,
    choice: choiceOf(body),
    parallel: body.tools?.length && body.tool_choice?.disable_parallel_tool_use === true ? false : undefined,
    user: body.metadata?.user_id ?? undefined,
    cache: JSON.stringify(body).includes('"cache_control":{') || undefined,
    reasoning: reasoningOf(body),
  };
  return JSON.parse(JSON.stringify(settings));
}

function choiceOf({ tool_choice: choice, tools }: Json): string | undefined {
  if (!tools?.length) return undefined;
  switch (choice?.type) {
    case 'any':
      return 'required';
    case 'tool':
      return choice.name;
    case 'none':
      return 'none';
    default:
      return undefined;
  }
}

function reasoningOf({ thinking, output_config: config }: Json): 'on' | 'off' | undefined {
  if (thinking?.type === 'disabled') return 'off';
  return thinking?.budget_tokens || config?.effort ? 'on' : undefined;
}
