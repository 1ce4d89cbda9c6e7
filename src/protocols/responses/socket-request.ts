/** One message of a WebSocket client: a request, which may continue a conversation that the connection remembers, and the messages back. */

import { answerIdOf } from '../../core/answer-id.ts';
import { GatewayError } from '../../core/errors.ts';
import { readBody, writeBody } from '../../core/json/body.ts';
import { isObject, type Json, parseObject } from '../../core/json/json.ts';
import { setMembers } from '../../core/json/members.ts';
import { MAX_NAME_CHARACTERS } from '../../core/lengths.ts';
import type { OwnResponseOptions, SocketMemory, SocketRequest } from '../../core/socket.ts';
import type { SseEvent } from '../../core/sse.ts';
import { continued } from './continuation.ts';
import { ENDS, LIFECYCLE, typeOf } from './events.ts';
import { checkLimits } from './request-schema.ts';
import { echoOf, encodeResponseObject } from './response-object.ts';
import { inputItems } from './stored.ts';

/** Largest conversation that a connection remembers. */
const MAX_REMEMBERED_BYTES = 16 * 1024 * 1024;

/** Members of a message that a request over HTTP does not have. `stream` is implied, although Codex sends it. */
const ENVELOPE = ['type', 'generate', 'stream_id', 'background'];

export class ResponsesSocketRequest implements SocketRequest {
  readonly #memory: SocketMemory;
  #streamId: string | undefined;
  #generates = true;
  /** Id of the response that it continues. */
  #previous: string | undefined;
  /** Id of the stored response that the conversation continues. */
  #root: string | undefined;
  #request: Json = {};
  /** Items of the conversation after the stored response and up to the answer, and about their size. */
  #input: readonly Json[] = [];
  #inputBytes = 0;
  /** Items of the answer as JSON, by their index. */
  readonly #output = new Map<number, string>();
  #outputBytes = 0;
  /** Id of the answer, once it is complete. */
  #answered: string | undefined;
  #saysUnstored = false;
  #failed = false;
  /** A message that would change an answer under way. */
  #steering: Json;

  constructor(memory: SocketMemory) {
    this.#memory = memory;
  }

  get previous(): string | undefined {
    return this.#previous;
  }

  get needsUpstream(): boolean {
    return this.#generates;
  }

  async read(message: Json, size: number): Promise<{ body: Json; size: number }> {
    if (typeof message.stream_id === 'string') this.#streamId = message.stream_id;
    if (message.type === 'response.steer') {
      this.#steering = { input: message.input, previous_response_id: message.previous_response_id };
      throw new GatewayError('invalid_request', 'Answers under way cannot be steered.', { param: 'type' });
    }
    checkEnvelope(message);
    this.#generates = message.generate !== false;
    const body: Json = { ...message, stream: true };
    for (const name of ENVELOPE) delete body[name];
    const { previous_response_id: previous } = body;
    this.#request = { ...body };
    if (typeof previous === 'string') await this.#continue(body, previous);
    else this.#input = inputItems(body.input);
    this.#inputBytes += size;
    return { body, size: this.#inputBytes };
  }

  ownResponse({ requestId, model, created }: OwnResponseOptions): string[] {
    const id = `resp_${answerIdOf(requestId)}`;
    this.#answered = id;
    const options = {
      model,
      created,
      includeUsage: true,
      array: false,
      hideReasoning: false,
      echo: echoOf(this.#request),
    };
    const begun = encodeResponseObject({ id, created, status: 'in_progress', output: [] }, options);
    const own = { id, created, status: 'completed' as const, output: [], completedAt: created };
    const ended = encodeResponseObject({ ...own, usage: { input: 0, output: 0 } }, options);
    const events = [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      { type: 'response.completed', response: ended },
    ];
    return events.map(({ type, response }, index) => this.#message({ type, sequence_number: index, response }));
  }

  encodeEvent(event: SseEvent, headers?: Record<string, string>): string | undefined {
    if (!MEMBERS.test(event.data)) return undefined;
    const type = typeOf(event);
    this.#watch(type, event.data);
    const text = this.#previous !== undefined && LIFECYCLE.includes(type) ? this.#named(event.data) : event.data;
    if (this.#streamId === undefined && !headers) return text;
    const first = JSON.stringify({ stream_id: this.#streamId, headers });
    return `${first.slice(0, -1)},${text.slice(1)}`;
  }

  encodeError({ status, body }: { status: number; body: Json }, headers: Record<string, string>): string {
    this.#failed = true;
    const { message, code, type, ...details } = isObject(body?.error) ? body.error : ({} as Json);
    const error = { type, code: String(code ?? type ?? status), message: String(message ?? ''), ...details };
    if (this.#steering) {
      const { type, message } = error;
      const refusal = { type, code: 'steering_not_supported', message };
      return this.#message({
        type: 'response.steer.failed',
        sequence_number: 0,
        error: refusal,
        steer: this.#steering,
      });
    }
    return this.#message({ type: 'error', status, error, headers });
  }

  async end(isStored: boolean): Promise<void> {
    if (this.#failed && this.#previous !== undefined) this.#memory.forget(this.#previous);
    if (this.#failed || this.#answered === undefined || (isStored && !this.#saysUnstored)) return;
    if (this.#inputBytes + this.#outputBytes > MAX_REMEMBERED_BYTES) return;
    // Its items are those of the conversation, which goes on by its own name.
    if (this.#request.conversation) return;
    const written = await writeBody({ root: this.#root, items: this.#input }, this.#inputBytes);
    const output = [...this.#output].sort(([one], [other]) => one - other).map(([, item]) => item);
    const separator = this.#input.length > 0 && output.length > 0 ? ',' : '';
    const bytes = Buffer.concat([
      written.subarray(0, -LIST_END.length),
      Buffer.from(`${separator}${output.join(',')}${LIST_END}`),
    ]);
    this.#memory.keep(this.#answered, this.#streamId ?? '', bytes);
  }

  /** Continues an answer that the connection remembers; another one may be stored. */
  async #continue(body: Json, previous: string): Promise<void> {
    this.#previous = previous;
    const kept = this.#memory.read(previous);
    if (!kept) {
      this.#root = previous;
      this.#input = inputItems(body.input);
      return;
    }
    // Errors name the items as the client counts them.
    checkLimits(body);
    this.#inputBytes = kept.length;
    const { root, items } = await readBody(kept);
    body.input = continued(items, inputItems(body.input), root === undefined);
    this.#root = root;
    this.#input = body.input;
    if (root === undefined) delete body.previous_response_id;
    else body.previous_response_id = root;
  }

  #message(event: Json): string {
    return JSON.stringify(this.#streamId === undefined ? event : { stream_id: this.#streamId, ...event });
  }

  /** An upstream that got the whole conversation does not know the response that it continues. */
  #named(text: string): string {
    const change = { path: ['previous_response_id'], value: this.#previous };
    return setMembers(Buffer.from(text), ['response'], [change]).toString();
  }

  /** Reads the items and the ending of the answer. */
  #watch(type: string, text: string): void {
    if (type === 'response.output_item.done') {
      const { item, output_index: index } = parseObject(text) ?? {};
      this.#keepItem(Number.isInteger(index) ? index : this.#output.size, item);
    } else if (ENDS.includes(type)) {
      const { response } = parseObject(text) ?? {};
      this.#failed ||= type === 'response.failed';
      this.#saysUnstored = response?.store === false;
      if (typeof response?.id === 'string') this.#answered = response.id;
      if (this.#output.size > 0 || !Array.isArray(response?.output)) return;
      for (const [index, item] of response.output.entries()) this.#keepItem(index, item);
    }
  }

  #keepItem(index: number, item: Json): void {
    if (!isObject(item) || this.#outputBytes > MAX_REMEMBERED_BYTES) return;
    const text = JSON.stringify(item);
    this.#outputBytes += text.length;
    this.#output.set(index, text);
  }
}

const LIST_END = ']}';
/** An object that is not empty. */
const MEMBERS = /^\{\s*"/;

/** Throws for a message without a request, and for members that only HTTP has. */
function checkEnvelope({ type, stream_id: streamId, generate, background }: Json): void {
  if (type !== 'response.create') {
    const named = typeof type === 'string' ? `"${type}"` : `a value of the type ${typeof type}`;
    const message = `type: ${named} is not accepted; send response.create.`;
    throw new GatewayError('invalid_request', message, { param: 'type' });
  }
  if ((streamId ?? null) !== null && (typeof streamId !== 'string' || streamId.length > MAX_NAME_CHARACTERS)) {
    const message = `stream_id must be a text of at most ${MAX_NAME_CHARACTERS} characters.`;
    throw new GatewayError('invalid_request', message, { param: 'stream_id' });
  }
  if ((generate ?? null) !== null && typeof generate !== 'boolean') {
    throw new GatewayError('invalid_request', 'generate must be true or false.', { param: 'generate' });
  }
  if (background === true) {
    const message = 'background is not supported over a WebSocket: send POST /v1/responses.';
    throw new GatewayError('unsupported_parameter', message, { param: 'background' });
  }
}
