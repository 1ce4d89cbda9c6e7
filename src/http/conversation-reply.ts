/** Reply of a response that belongs to a stored conversation, or continues a stored response: its response objects name them. */

import type { Member } from '../core/json/json.ts';
import { setMembers } from '../core/json/members.ts';
import { createFramer, parseFrame } from '../core/sse.ts';
import type { StoredAccess } from '../core/stored-access.ts';
import { outputBytes } from '../inference/response/converter.ts';
import type { Reply } from '../inference/response/reply.ts';
import type { InferenceCall } from '../routing/inference-call.ts';

const OK = 200;

/** The reply itself for a call that belongs to no conversation, and whose upstream knows the response that it continues. */
export function namingReply(reply: Reply, call: InferenceCall): Reply {
  const { turn, protocol, operation } = call;
  const stored = protocol.operations.complete.stored;
  if (!stored || operation.name !== 'complete') return reply;
  const { eventPath, turnMember } = stored;
  const previous = replacedPrevious(call, stored);
  if (!turn && previous.length === 0) return reply;
  const framer = createFramer();
  let body: 'events' | 'object' | 'other' = 'other';
  /** Head of a whole response, whose length is not known yet. */
  let head: Record<string, string> = {};

  function named(json: Buffer, path: readonly string[]): Buffer {
    const members = [...previous];
    if (turn) members.push({ path: [turnMember], value: turn.isLost ? null : { id: turn.id } });
    return setMembers(json, path, members);
  }

  function namedFrame(frame: Buffer): Buffer {
    const start = frame.indexOf('{');
    if (start < 0 || !frame.includes(eventPath.at(-1) ?? '')) return frame;
    const data = Buffer.from(parseFrame(frame)?.data ?? '');
    // Data on several lines is left as it is.
    if (data.length === 0 || !frame.subarray(start, start + data.length).equals(data)) return frame;
    return Buffer.concat([frame.subarray(0, start), named(data, eventPath), frame.subarray(start + data.length)]);
  }

  function framesOf(frames: readonly Buffer[]): Buffer {
    return Buffer.concat(frames.map(namedFrame));
  }

  return {
    head(status, headers) {
      const type = headers['content-type'] ?? '';
      if (status === OK && type.startsWith('text/event-stream')) body = 'events';
      else if (status === OK && type.startsWith('application/json')) body = 'object';
      if (body === 'object') head = headers;
      else reply.head(status, headers);
    },
    write(output) {
      if (body === 'object') {
        // Its length was announced.
        reply.head(OK, head);
        body = 'other';
      }
      if (body === 'other') return reply.write(output);
      const frames = framer.push(outputBytes(output));
      if (frames.length > 0) reply.write(framesOf(frames));
    },
    get full() {
      return reply.full;
    },
    get waiting() {
      return reply.waiting + framer.pending;
    },
    onDrain: (listener) => reply.onDrain(listener),
    end(output, trailers) {
      if (body === 'events') {
        const frames = [...(output === undefined ? [] : framer.push(outputBytes(output))), ...framer.end()];
        return reply.end(frames.length > 0 ? framesOf(frames) : undefined, trailers);
      }
      if (body === 'other') return reply.end(output, trailers);
      const whole = named(outputBytes(output ?? ''), []);
      reply.head(OK, { ...head, 'content-length': String(whole.length) });
      return reply.end(whole, trailers);
    },
    onClose: (listener) => reply.onClose(listener),
    onDone: (listener) => reply.onDone(listener),
  };
}

/** The name of a response that the gateway replaced by its items. */
function replacedPrevious({ asked, body }: InferenceCall, { previousMember }: StoredAccess): Member[] {
  const value = asked?.[previousMember];
  return typeof value === 'string' && value !== body[previousMember] ? [{ path: [previousMember], value }] : [];
}
