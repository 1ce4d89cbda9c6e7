/** Upstreams of the Responses protocol: one that keeps responses in each account, as OpenAI does, and one that keeps none. */

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Json } from '../../src/core/json/json.ts';
import { replayStream } from '../../src/protocols/responses/replay-stream.ts';
import { answerJson, startUpstream, type TestUpstream, type UpstreamCall } from './harness.ts';

export interface ResponsesUpstream extends TestUpstream {
  /** Output of the next responses; a message that repeats the last text of the input if undefined. */
  output: ((body: Json, number: number) => Json[]) | undefined;
  /** Changes of the next response objects. */
  changes: Json;
  /** Called before the last event of a stream, or before a whole response. */
  beforeEnd: (() => Promise<void>) | undefined;
  /** `Retry-After` with which requests about kept responses are refused. */
  pause: string | undefined;
  /** Number of responses so far. */
  count: number;
}

export interface UpstreamOptions {
  keeps: boolean;
  /** First letters of all ids, which tell upstreams apart. */
  prefix?: string;
}

export async function startResponsesUpstream({ keeps, prefix = '' }: UpstreamOptions): Promise<ResponsesUpstream> {
  /** By account. */
  const accounts = new Map<string, Map<string, Json>>();

  function answer(call: UpstreamCall, response: ServerResponse): void | Promise<void> {
    const account = String(call.headers.authorization);
    const kept = accounts.get(account) ?? new Map<string, Json>();
    accounts.set(account, kept);
    const [path = '', query = ''] = call.path.split('?');
    const [, id, resource] = /^\/v1\/responses\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
    if (id !== undefined && upstream.pause !== undefined) {
      response.setHeader('retry-after', upstream.pause);
      return refuse(response, 429, 'Too many requests.');
    }
    if (id !== undefined && id !== 'input_tokens') return answerResource(call, response, { kept, id, resource, query });
    const { body } = call;
    const previous = body.previous_response_id;
    if (previous && !kept.has(previous))
      return refuse(response, 400, `Previous response with id '${previous}' not found.`);
    for (const item of Array.isArray(body.input) ? body.input : [])
      if (
        item.type === 'item_reference' &&
        ![...kept.values()].some(({ output }) => output.some((one: Json) => one.id === item.id))
      )
        return refuse(response, 404, `Item with id '${item.id}' not found.`);
    if (id === 'input_tokens') return answerJson(response, { object: 'response.input_tokens', input_tokens: 7 });
    return answerCreation(call, response, kept);
  }

  async function answerCreation(
    { body }: UpstreamCall,
    response: ServerResponse,
    kept: Map<string, Json>,
  ): Promise<void> {
    const number = ++upstream.count;
    const object = responseOf(body, number);
    if (keeps && body.store !== false) kept.set(object.id, object);
    if (body.stream !== true) {
      await upstream.beforeEnd?.();
      return answerJson(response, object);
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = await Array.fromAsync(replayStream(object));
    for (const event of events.slice(0, -1)) response.write(event);
    await upstream.beforeEnd?.();
    response.end(events.at(-1));
  }

  function responseOf(body: Json, number: number): Json {
    return {
      id: `resp_${prefix}${number}`,
      ...{ object: 'response', created_at: 1_793_491_200, status: 'completed', completed_at: 1_793_491_201 },
      ...{ error: null, incomplete_details: null, instructions: body.instructions ?? null, model: body.model },
      output: upstream.output?.(body, number) ?? [
        messageOf(`msg_${prefix}${number}`, `You said: ${lastText(body.input)}`),
      ],
      previous_response_id: body.previous_response_id ?? null,
      ...{ store: keeps && body.store !== false, tools: body.tools ?? [], metadata: body.metadata ?? {} },
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      ...upstream.changes,
    };
  }

  const upstream: ResponsesUpstream = Object.assign(await startUpstream(answer), {
    output: undefined,
    changes: {},
    beforeEnd: undefined,
    pause: undefined,
    count: 0,
  });
  return upstream;
}

interface Resource {
  kept: Map<string, Json>;
  id: string;
  resource: string | undefined;
  query: string;
}

function answerResource(call: UpstreamCall, response: ServerResponse, { kept, id, resource, query }: Resource): void {
  const found = kept.get(id);
  if (!found) refuse(response, 404, `Response with id '${id}' not found.`);
  else if (call.method === 'DELETE') {
    kept.delete(id);
    answerJson(response, { id, object: 'response.deleted', deleted: true });
  } else if (resource === 'input_items') answerJson(response, { object: 'list', data: [{ id: 'in_1' }], query });
  else if (new URLSearchParams(query).get('stream') === 'true') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    pipeline(replayStream(found), response).catch(() => undefined);
  } else answerJson(response, found);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  answerJson(response, { error: { message, type: 'invalid_request_error', param: null, code: null } }, status);
}

export function messageOf(id: string, text: string): Json {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { id, type: 'message', status: 'completed', role: 'assistant', content };
}

/** The last text in an input. */
export function lastText(input: Json): string {
  if (typeof input === 'string') return input;
  const item = Array.isArray(input) ? input.findLast(({ content, output }) => content ?? output) : undefined;
  const content = item?.content ?? item?.output;
  return typeof content === 'string' ? content : (content?.at(-1)?.text ?? '');
}
