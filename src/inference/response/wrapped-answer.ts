/**
 * Text that an upstream only writes inside of an object, taken out of it as its fragments come: calls of free-text tools at
 * upstreams that only have functions, which the encoders declare with one text field `input`, and answers by a schema of
 * another type at upstreams whose answers are objects, which get the one member `answer`.
 */

import type { ChatEvent, ChatRequest, ResponseFormat } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { toolKey } from '../../core/tools.ts';
import type { Plan } from '../request/planned-request.ts';
import { createAnswerReader, createInputReader, type InputReader } from './input-reader.ts';

/** The format as an object around the answer; undefined if its schema is one already, or refers to its own root. */
export function wrappedFormat(format: ResponseFormat | undefined): ResponseFormat | undefined {
  if (format?.type !== 'schema' || !isObject(format.schema) || isOfObjects(format.schema)) return undefined;
  if (refersToRoot(format.schema)) return undefined;
  const { $schema, $defs, definitions, ...answer } = format.schema;
  const schema = { type: 'object', properties: { answer }, required: ['answer'], additionalProperties: false };
  const shared = Object.entries({ $schema, $defs, definitions }).filter(([, value]) => value !== undefined);
  return { ...format, schema: Object.assign(schema, Object.fromEntries(shared)) };
}

function isOfObjects(schema: Record<string, Json>): boolean {
  return schema.type === 'object' || schema.properties !== undefined || Object.keys(schema).length === 0;
}

/** Whether a reference leads to anything but shared definitions, which keep their place. */
function refersToRoot(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(refersToRoot);
  if (!isObject(schema)) return false;
  const { $ref } = schema;
  if (typeof $ref === 'string' && !/^#\/(?:\$defs|definitions)\//.test($ref)) return true;
  return Object.values(schema).some(refersToRoot);
}

/** Unwraps the calls of free-text tools, and the answer where it was wrapped. */
export function createUnwrapper({ request, wrapsAnswer }: Pick<Plan, 'request' | 'wrapsAnswer'>) {
  const unwrapCalls = createCallUnwrapper(request);
  if (!wrapsAnswer) return unwrapCalls;
  const unwrapAnswer = createAnswerUnwrapper();
  return (event: ChatEvent): ChatEvent[] => unwrapAnswer(event).flatMap(unwrapCalls);
}

function createAnswerUnwrapper(): (event: ChatEvent) => ChatEvent[] {
  const open = new Map<number, InputReader>();

  return (event) => {
    if (event.type === 'part-start' && event.part.type === 'text') {
      const reader = createAnswerReader();
      open.set(event.index, reader);
      return [{ ...event, part: { ...event.part, text: reader.push(event.part.text) } }];
    }
    const reader = 'index' in event ? open.get(event.index) : undefined;
    if (!reader) return [event];
    if (event.type === 'part-delta') {
      const text = reader.push(event.text ?? '');
      const hasMore = event.opaque || event.citation || event.logprobs;
      return text === '' && !hasMore ? [] : [{ ...event, text }];
    }
    return event.type === 'part-end' ? [...textOf(event.index, reader.end()), event] : [event];
  };
}

function textOf(index: number, text: string): ChatEvent[] {
  return text === '' ? [] : [{ type: 'part-delta', index, text }];
}

function createCallUnwrapper(request: ChatRequest | undefined): (event: ChatEvent) => ChatEvent[] {
  const names = new Set(request?.tools.filter((tool) => tool.custom).map(toolKey));
  if (names.size === 0) return (event) => [event];
  const open = new Map<number, InputReader>();

  return (event) => {
    if (event.type === 'part-start' && event.part.type === 'call' && isWrapped(event.part)) {
      const reader = createInputReader();
      open.set(event.index, reader);
      return [{ ...event, part: { ...event.part, args: reader.push(event.part.args), custom: true } }];
    }
    const reader = 'index' in event ? open.get(event.index) : undefined;
    if (!reader) return [event];
    if (event.type === 'part-delta') {
      const text = reader.push(event.text ?? '');
      if (text !== '') return [{ ...event, text }];
      return event.opaque ? [{ ...event, text: undefined }] : [];
    }
    if (event.type !== 'part-end') return [event];
    open.delete(event.index);
    return [...textOf(event.index, reader.end()), event];
  };

  function isWrapped({ name, namespace, custom }: { name: string; namespace?: string; custom?: boolean }): boolean {
    return !custom && names.has(toolKey({ name, ...(namespace !== undefined && { namespace }) }));
  }
}
