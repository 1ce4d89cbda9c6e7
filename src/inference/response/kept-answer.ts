/** Storage of an answer: the response object in its last bytes, as the client gets it. */

import { isObject, type Json, valueAt } from '../../core/json/json.ts';
import { readResponseJson } from '../../core/json/response.ts';
import { everySpanAt, spliceAll } from '../../core/json/spans.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import { createFramer } from '../../core/sse.ts';
import type { AnswerKeeper } from '../../routing/answer-keeper.ts';
import type { AttemptResult, ResponseContext } from './context.ts';
import type { Output } from './converter.ts';
import { readEvent } from './read-event.ts';

export interface Ending {
  result: Omit<AttemptResult, 'finish' | 'keep'>;
  /** Headers of a whole answer. */
  head?: Record<string, string>;
  /** The last bytes. */
  body: Output;
  trailers?: Record<string, string>;
  /** Id of the response in the first event of a relayed stream. */
  firstId?: string | undefined;
}

/** False if the answer could not be stored. */
export async function keepAnswer(context: ResponseContext, keeper: AnswerKeeper, ending: Ending): Promise<boolean> {
  const { endpoint, planned, finished, options } = context;
  const response = await responseIn(context, ending).catch(() => undefined);
  if (!response) return false;
  return keeper.keep({
    response,
    firstId: ending.firstId,
    finished: finished?.list ?? [],
    hidden: options.hidden ?? [],
    endpoint,
    origin: planned.target.origin,
    isRelayed: planned.path !== 'translated',
    turn: context.call.turn,
  });
}

async function responseIn({ call }: ResponseContext, { head, body }: Ending): Promise<Json> {
  const bytes = Buffer.from(body);
  if (head) return readResponseJson(bytes);
  const frame = lastEventIn(bytes, call.protocol.operations.complete);
  const event = frame && (await readResponseJson(frame.json));
  const response = valueAt(event, call.protocol.operations.complete.stored?.eventPath ?? []);
  return isObject(response) ? response : undefined;
}

interface LastEvent {
  /** Position of its JSON in the bytes. */
  start: number;
  json: Buffer;
}

/** The event that ends a stream, in its last bytes. */
function lastEventIn(bytes: Buffer, { isEnd }: CompleteOperation): LastEvent | undefined {
  const framer = createFramer();
  let start = 0;
  for (const frame of [...framer.push(bytes), ...framer.end()]) {
    const event = readEvent(frame);
    const brace = frame.indexOf('{');
    if (event && isEnd(event) && brace >= 0) {
      return { start: start + brace, json: Buffer.from(event.data) };
    }
    start += frame.length;
  }
  return undefined;
}

/** The ending of an answer that is not stored. */
export function tellNotStored({ call }: ResponseContext, { head, body }: Ending): Pick<Ending, 'head' | 'body'> {
  const { complete } = call.protocol.operations;
  const { eventPath = [], storeMember = '', turnMember } = complete.stored ?? {};
  const bytes = Buffer.from(body);
  if (head) {
    const changed = spliceAll(bytes, everySpanAt(bytes, [[storeMember]]), 'false');
    const names = [head['x-polygate-dropped'], call.keeper?.isStored && storeMember, call.turn && turnMember];
    const dropped = names.filter(Boolean).join(', ');
    return {
      head: { ...head, 'x-polygate-dropped': dropped, 'content-length': String(changed.length) },
      body: changed,
    };
  }
  const event = lastEventIn(bytes, complete);
  if (!event) return { body };
  const { start, json } = event;
  // Data on several lines is left as it is.
  if (!bytes.subarray(start, start + json.length).equals(json)) return { body };
  const changed = spliceAll(json, everySpanAt(json, [[...eventPath, storeMember]]), 'false');
  return { body: Buffer.concat([bytes.subarray(0, start), changed, bytes.subarray(start + json.length)]) };
}
