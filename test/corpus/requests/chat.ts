/** A chat completions request, as its upstream reads it. */

import type { Json } from '../../../src/core/json/json.ts';
import { type Asked, addFormat, addTool, emptyAsked, resultOf, type Settings, words } from '../asked.ts';
import { canonicalText } from '../readers/chat.ts';

export function readChatRequest(body: Json): Asked {
  const asked = emptyAsked();
  for (const message of body.messages ?? []) readMessage(asked, message);
  const functions: Json[] = [
    ...(body.tools ?? []).map((tool: Json) => tool.function ?? tool.custom),
    ...(body.functions ?? []),
  ];
  for (const { name, description, parameters } of functions.filter(Boolean)) {
    addTool(asked, { name, description, schema: parameters });
  }
  asked.settings = settingsOf(body);
  const format = body.response_format?.json_schema;
  if (format) addFormat(asked, format.schema);
  return asked;
}

function readMessage(asked: Asked, { role, content, tool_calls: calls = [], function_call: call }: Json): void {
  const parts: Json[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
  const text = parts
    .map((part) => (part.type === 'text' || part.type === 'refusal' ? (part.text ?? part.refusal ?? '') : ''))
    .join('');
  if (role === 'tool' || role === 'function') asked.results.push(resultOf(text));
  else if (text !== '') asked[role === 'developer' ? 'system' : (role as 'user')].push(words(text));
  asked.media.push(...parts.flatMap(mediaOf));
  for (const made of [...(calls ?? []), ...(call ? [{ function: call }] : [])]) {
    const { name, arguments: args, input } = made.function ?? made.custom;
    asked.calls.push(`${name} ${args === undefined ? JSON.stringify({ input }) : canonicalText(args)}`);
  }
}

function mediaOf({ type, image_url: image, input_audio: audio, file, video_url: video, ...other }: Json): string[] {
  switch (type) {
    case 'image_url':
      return [`image ${addressOf(image.url ?? image)}`];
    case 'input_audio':
      return [`audio ${(audio.data ?? audio).length}`];
    case 'video_url':
      return [`video ${addressOf(video.url ?? video)}`];
    case 'file':
      return [`document ${addressOf(file.file_data ?? file.file_id)}`];
    case 'document_url':
      return [`document ${addressOf(other.document_url)}`];
    case 'file_url':
      return [`document ${addressOf(other.file_url.url ?? other.file_url)}`];
    default:
      return [];
  }
}

/** Data, with or without `data:` before it, by its length. */
function addressOf(url: string): string {
  return /^(https?|gs):/.test(url) ? url : String(url.length - url.indexOf(',') - 1);
}

function settingsOf(body: Json): Settings {
  const settings: Settings = {
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    topK: body.top_k ?? undefined,
    stop: stopOf(body.stop),
    seed: body.seed ?? body.random_seed ?? undefined,
    frequencyPenalty: body.frequency_penalty ?? undefined,
    presencePenalty: body.presence_penalty ?? undefined,
    candidates: body.n > 1 ? body.n : undefined,
    parallel: body.tools?.length && body.parallel_tool_calls === false ? false : undefined,
    logprobs: body.logprobs || undefined,
    user: body.safety_identifier ?? body.user ?? undefined,
    cache: /"(cache_control|prompt_cache_breakpoint)":\{/.test(JSON.stringify(body)) || undefined,
    reasoning: reasoningOf(body),
    choice: choiceOf(body),
    format: jsonMode(body),
  };
  return JSON.parse(JSON.stringify(settings));
}

function stopOf(stop: Json): string | undefined {
  return stop?.length ? [stop].flat().join() : undefined;
}

function jsonMode({ response_format: format }: Json): string | undefined {
  return format?.type === 'json_object' ? 'json' : undefined;
}

/** `auto` says nothing. */
function choiceOf({ tool_choice: choice, tools }: Json): string | undefined {
  if (!choice || choice === 'auto' || !tools?.length) return undefined;
  if (choice === 'any') return 'required';
  return choice.function?.name ?? (typeof choice === 'string' ? choice : (choice.allowed_tools?.mode ?? choice.type));
}

function reasoningOf({ reasoning_effort: effort, reasoning }: Json): 'on' | 'off' | undefined {
  if (!effort && !reasoning?.effort && !reasoning?.max_tokens) return undefined;
  return (effort ?? reasoning.effort) === 'none' ? 'off' : 'on';
}
