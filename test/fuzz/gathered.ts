/** Streams of clients gathered to the whole answers that they say, as a client would gather them. */

import type { Json } from '../../src/core/json/json.ts';
import { messages } from '../corpus/readers/messages.ts';
import { responses } from '../corpus/readers/responses.ts';

/** The whole answer that a stream says, which has the data of its events in `data`. */
export function gathered(protocol: string, { text, data }: { text: string; data: Json[] }): Json {
  switch (protocol) {
    case 'chat':
      return gatheredChat(data);
    case 'messages':
      return messages.join(text);
    case 'generate':
      return gatheredGenerate(data);
    default:
      return responses.join(text);
  }
}

function gatheredChat(chunks: Json[]): Json {
  const choices: Json[] = [];
  for (const { choices: given } of chunks)
    for (const { index, delta, logprobs, ...end } of given) {
      choices[index] ??= { index, message: {}, logprobs: null };
      const choice = choices[index];
      Object.assign(choice, end);
      if (logprobs) {
        choice.logprobs ??= { content: [], refusal: null };
        choice.logprobs.content.push(...logprobs.content);
      }
      for (const [member, value] of Object.entries<Json>(delta)) grow(choice.message, member, value);
    }
  const { id, created, model } = chunks[0];
  const { usage, service_tier } = chunks.at(-1);
  return { id, created, model, choices, usage, ...(service_tier && { service_tier }) };
}

function grow(holder: Json, member: string, value: Json): void {
  const before = holder[member];
  if (before === undefined || before === null) holder[member] = structuredClone(Array.isArray(value) ? [] : value);
  if (Array.isArray(value)) for (const item of value) growList(holder[member], item);
  else if (typeof before === 'string' && typeof value === 'string' && !NAMES.has(member)) holder[member] += value;
  else if (before && typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) grow(before, name, inner);
  else if (value !== null) holder[member] = structuredClone(value);
}

/** Members that are names and not pieces of a text. */
const NAMES = new Set(['role', 'id', 'type', 'signature']);

function growList(list: Json[], item: Json): void {
  const known = item.index === undefined ? undefined : list.find(({ index }) => index === item.index);
  if (!known) list.push(structuredClone(item));
  else for (const [name, value] of Object.entries<Json>(item)) if (name !== 'index') grow(known, name, value);
}

function gatheredGenerate(chunks: Json[]): Json {
  const candidates: Json[] = [];
  const answer: Json = {};
  for (const { candidates: given = [], ...rest } of chunks) {
    Object.assign(answer, rest);
    for (const { index, content, logprobsResult, ...more } of given) {
      candidates[index] ??= { index, content: { role: 'model', parts: [] } };
      const candidate = candidates[index];
      Object.assign(candidate, more);
      candidate.content.parts.push(...content.parts);
      if (logprobsResult) growLogprobs(candidate, logprobsResult);
    }
  }
  return { ...answer, ...(!answer.promptFeedback && { candidates }) };
}

function growLogprobs(candidate: Json, { chosenCandidates, topCandidates }: Json): void {
  candidate.logprobsResult ??= { chosenCandidates: [] };
  candidate.logprobsResult.chosenCandidates.push(...chosenCandidates);
  if (!topCandidates) return;
  candidate.logprobsResult.topCandidates ??= [];
  candidate.logprobsResult.topCandidates.push(...topCandidates);
}

/** What an answer says, whole or gathered: without the ways to write the same that clients do not tell apart. */
export function said(protocol: string, answer: Json): Json {
  const copy = structuredClone(answer);
  switch (protocol) {
    case 'chat':
      delete copy.system_fingerprint;
      delete copy.object;
      for (const { message } of copy.choices) {
        message.content ??= '';
        message.refusal ??= null;
        for (const list of [message.images, message.tool_calls]) for (const item of list ?? []) delete item.index;
      }
      return copy;
    case 'generate':
      for (const candidate of copy.candidates ?? []) candidate.content.parts = joinedTexts(candidate.content.parts);
      return copy;
    case 'responses':
      delete copy.completed_at;
      return copy;
    default:
      return copy;
  }
}

function joinedTexts(parts: Json[]): Json[] {
  const joined: Json[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isText = typeof part.text === 'string';
    if (isText && last && typeof last.text === 'string' && last.thought === part.thought && !last.thoughtSignature)
      joined[joined.length - 1] = { ...part, text: last.text + part.text };
    else if (!isText || part.text !== '' || part.thoughtSignature) joined.push(part);
  }
  return joined;
}
