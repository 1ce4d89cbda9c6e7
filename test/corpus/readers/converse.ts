/** Converse, as the SDKs of AWS read it. */

import { type Json, read } from '../../../src/core/json/json.ts';
import {
  type Answer,
  BROKEN,
  type Counts,
  canonical,
  type End,
  emptyChoice,
  eventsIn,
  type Reader,
  unique,
} from '../answer.ts';

const ENDS: Record<string, End> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  tool_use: 'calls',
  content_filtered: 'filtered',
  guardrail_intervened: 'filtered',
};

function readBody(body: Json): Answer {
  const blocks: Json[] = body.output?.message?.content ?? [];
  const choice = emptyChoice();
  choice.text = blocks.map(({ text, citationsContent }) => text ?? wordsOf(citationsContent?.content)).join('');
  choice.reasoning = blocks.map(({ reasoningContent }) => reasoningContent?.reasoningText?.text ?? '').join('');
  choice.calls = blocks
    .filter(({ toolUse }) => toolUse && toolUse.type !== 'server_tool_use')
    .map(({ toolUse: { name, input } }) => ({
      name,
      args: typeof input === 'string' ? `${BROKEN} ${input}` : canonical(input ?? {}),
    }));
  choice.citations = unique(
    blocks.flatMap(({ citationsContent }) => (citationsContent?.citations ?? []).map(sourceOf)),
  );
  choice.media = blocks.flatMap(({ image }) => (image ? [`image ${image.source.bytes.length}`] : []));
  choice.end = ENDS[body.stopReason] ?? 'abnormal';
  return { choices: [choice], counts: countsOf(body.usage) };
}

function wordsOf(pieces: Json): string {
  return (pieces ?? []).map(({ text }: Json) => text ?? '').join('');
}

function sourceOf({ location, sourceContent }: Json): string {
  return location?.web?.url ?? `“${wordsOf(sourceContent)}”`;
}

function countsOf(usage: Json): Counts | undefined {
  if (!usage) return undefined;
  const { inputTokens, outputTokens, cacheReadInputTokens = 0, cacheWriteInputTokens = 0 } = usage;
  return {
    input: inputTokens + cacheReadInputTokens + cacheWriteInputTokens,
    output: outputTokens,
    cached: cacheReadInputTokens,
    cacheWrite: cacheWriteInputTokens,
    reasoning: 0,
  };
}

function join(text: string): Json {
  const blocks: Json[] = [];
  const inputs: string[] = [];
  const body: Json = { output: { message: { role: 'assistant', content: blocks } } };
  for (const { event, data } of eventsIn(text)) {
    const { contentBlockIndex: index, start, delta, ...rest } = read(data);
    switch (event) {
      case 'contentBlockStart':
        blocks[index] = start;
        break;
      case 'contentBlockDelta': {
        blocks[index] ??= {};
        if (delta.toolUse) inputs[index] = (inputs[index] ?? '') + delta.toolUse.input;
        else blocks[index] = grown(blocks[index], delta);
        break;
      }
      case 'messageStop':
        body.stopReason = rest.stopReason;
        break;
      case 'metadata':
        Object.assign(body, rest);
        break;
    }
  }
  for (const [index, input] of inputs.entries()) {
    if (input === undefined) continue;
    try {
      blocks[index].toolUse.input = input === '' ? {} : read(input);
    } catch {
      blocks[index].toolUse.input = input;
    }
  }
  if (body.stopReason === undefined) throw new Error('no messageStop');
  return body;
}

/** A cited text is a block of its own kind. */
function grown(block: Json, { text, citation, reasoningContent: thought, toolResult, image }: Json): Json {
  if (text !== undefined) {
    if (!block.citationsContent) return { text: (block.text ?? '') + text };
    block.citationsContent.content.push({ text });
  }
  if (citation) {
    const content = block.text === undefined ? [] : [{ text: block.text }];
    const cited = block.citationsContent ?? { content, citations: [] };
    return { citationsContent: { ...cited, citations: [...cited.citations, citation] } };
  }
  if (thought) {
    if (thought.redactedContent) return { reasoningContent: thought };
    const { text: words = '', signature } = block.reasoningContent?.reasoningText ?? {};
    const reasoningText = { text: words + (thought.text ?? ''), signature: thought.signature ?? signature };
    return { reasoningContent: { reasoningText } };
  }
  if (toolResult) return { toolResult: { ...block.toolResult, content: toolResult } };
  return image ? { image: { ...block.image, ...image } } : block;
}

function split(body: Json): string {
  const { output, stopReason, ...metadata } = body;
  const blocks: Json[] = output.message.content;
  const events: [string, Json][] = [['messageStart', { role: 'assistant' }]];
  for (const [contentBlockIndex, block] of blocks.entries()) {
    const { start, deltas } = pieces(block);
    if (start) events.push(['contentBlockStart', { contentBlockIndex, start }]);
    for (const delta of deltas) events.push(['contentBlockDelta', { contentBlockIndex, delta }]);
    events.push(['contentBlockStop', { contentBlockIndex }]);
  }
  events.push(['messageStop', { stopReason }], ['metadata', metadata]);
  return events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ ...data, p: 'abcd' })}\n\n`).join('');
}

function pieces({ text, toolUse, toolResult, reasoningContent, citationsContent, image }: Json): {
  start?: Json;
  deltas: Json[];
} {
  if (text !== undefined) return { deltas: [{ text }] };
  if (toolUse) {
    const { input, ...rest } = toolUse;
    const json = JSON.stringify(input ?? {});
    const middle = Math.floor(json.length / 2);
    const deltas = [json.slice(0, middle), json.slice(middle)].map((part) => ({ toolUse: { input: part } }));
    return { start: { toolUse: rest }, deltas };
  }
  if (toolResult) {
    const { content, ...rest } = toolResult;
    return { start: { toolResult: rest }, deltas: [{ toolResult: content }] };
  }
  if (citationsContent) {
    const cited = (citationsContent.citations ?? []).map((citation: Json) => ({ citation }));
    return { deltas: [...cited, ...(citationsContent.content ?? [])] };
  }
  if (image) return { start: { image: { format: image.format } }, deltas: [{ image: { source: image.source } }] };
  if (reasoningContent?.redactedContent) return { deltas: [{ reasoningContent }] };
  const { text: words, signature } = reasoningContent.reasoningText;
  const signed = signature ? [{ reasoningContent: { signature } }] : [];
  return { deltas: [{ reasoningContent: { text: words } }, ...signed] };
}

export const converse: Reader = { read: readBody, join, split };
