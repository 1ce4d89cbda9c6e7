/** Passthrough and patched requests to an upstream of the client's own protocol. */

import { writeBody, yieldIfLarge } from '../../core/json/body.ts';
import { copyJson } from '../../core/json/copy.ts';
import { findSpan } from '../../core/json/find.ts';
import { isObject, type Json, type Span, valueAt } from '../../core/json/json.ts';
import { writeChanges } from '../../core/json/members.ts';
import type { CompleteOperation, Operation, Target } from '../../core/operation.ts';
import type { OutgoingBody } from '../../core/platform.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { addOptions } from '../../routing/provider-options.ts';
import { lacks, STATE_MEMBER } from '../sought-names.ts';
import type { StateMemory } from '../state/memory.ts';
import { forwardedHeaders } from '../upstream-request.ts';
import { keepWithin } from './output-limit.ts';
import type { Plan } from './planned-request.ts';

interface Way {
  target: Target;
  memory: StateMemory;
}

/** The client's bytes if nothing must change, else its JSON with the changes of the gateway and the dialect. */
export function planPassthrough(call: InferenceCall, endpoint: Endpoint, way: Way): Plan | Promise<Plan> {
  // An upstream inside the gateway does not validate requests itself.
  if (endpoint.provider.local) call.operation.check(call.body);
  const pause = yieldIfLarge(call.bytes.length);
  return pause ? pause.then(() => planNow(call, endpoint, way)) : planNow(call, endpoint, way);
}

function planNow(call: InferenceCall, endpoint: Endpoint, way: Way): Plan | Promise<Plan> {
  const { protocol: upstream, operation, bytes } = call;
  const { target } = way;
  const usage = streamUsageToAdd(call);
  const addsUsage = usage !== undefined && call.body[usage.field] === undefined;
  if (mayChange(call, endpoint, way.memory) || (usage && !addsUsage)) {
    const { body, isChanged, dropped } = changedBody(call, endpoint, { ...way, usage });
    if (isChanged || (usage && !addsUsage)) {
      renameModel(body, operation, target);
      const patched = (bytes: Buffer): Plan => ({ path: 'patched', upstream, operation, target, body: bytes, dropped });
      const written =
        bytes.length <= MAX_SPLICED_BYTES
          ? writeChanges(bytes, { read: call.body, changed: body, rewritten: modelMembers(operation) })
          : writeBody(body, bytes.length);
      return written instanceof Promise ? written.then(patched) : patched(written);
    }
  }
  const prefix = addsUsage ? `${JSON.stringify(usage.field)}:${JSON.stringify(usage.value)},` : '';
  const passed = (body: OutgoingBody): Plan => ({
    path: 'passthrough',
    upstream,
    operation,
    target,
    body,
    dropped: NOTHING,
  });
  const renamed = respell(bytes, { operation, target, prefix });
  return renamed instanceof Promise ? renamed.then(passed) : passed(renamed);
}

const NOTHING: string[] = [];
/** Size up to which members that did not change are found, and keep the client's bytes, within a few milliseconds. */
const MAX_SPLICED_BYTES = 1024 * 1024;

/** Whether a body needs to be looked at member by member; false for most. */
function mayChange(call: InferenceCall, endpoint: Endpoint, memory: StateMemory): boolean {
  const { body, operation, limitOf } = call;
  return (
    operation.name === 'embed' ||
    limitOf !== undefined ||
    endpoint.options !== undefined ||
    (operation.name === 'complete' && endpoint.dialect.adapt !== undefined) ||
    (operation.name === 'count-tokens' && endpoint.dialect.adaptCount !== undefined) ||
    operation.gatewayFields.some((field) => body[field] !== undefined) ||
    mayHoldState(call, memory)
  );
}

/** Start of the escapes in which letters may be written instead: all of them have codes below 256. */
const ESCAPED_LETTER = '\\u00';

/** Size up to which searching a body takes a few milliseconds at most; a larger one is searched member by member. */
const MAX_SEARCHED_BYTES = 256 * 1024;

function mayHoldState(call: InferenceCall, memory: StateMemory): boolean {
  const { bytes, operation } = call;
  const { state } = operation;
  if (!state || lacks(call, STATE_MEMBER)) return false;
  if (bytes.length > MAX_SEARCHED_BYTES) return true;
  if (bytes.includes(ESCAPED_LETTER) || state.marks.some((mark) => bytes.includes(mark))) return true;
  return memory.hasOwners() && state.fields.some((field) => bytes.includes(`"${field}"`));
}

interface ChangedBody {
  body: Json;
  isChanged: boolean;
  dropped: string[];
}

/** A copy of the client's body with all changes but those that splicing can make. */
function changedBody(
  call: InferenceCall,
  endpoint: Endpoint,
  { target, memory, usage }: Way & { usage: CompleteOperation['streamUsage'] },
): ChangedBody {
  const { operation } = call;
  const body = copyJson(call.body);
  let isChanged = false;
  for (const field of operation.gatewayFields) {
    if (body[field] === undefined) continue;
    delete body[field];
    isChanged = true;
  }
  memory.wrapForeignState(body, operation, target.origin);
  isChanged = operation.state?.restore(body, target.origin) || isChanged;
  isChanged = addOptions(body, endpoint) || isChanged;
  if (usage) body[usage.field] = { ...body[usage.field], ...usage.value };
  if (operation.name === 'embed') isChanged = operation.adjust(body, target) || isChanged;
  if (operation.name === 'count-tokens') isChanged = endpoint.dialect.adaptCount?.(body, target.model) || isChanged;
  if (operation.name !== 'complete') return { body, isChanged, dropped: NOTHING };
  const adapted = endpoint.dialect.adapt?.(body, target.rules, call.headers);
  const limit = call.limitOf?.(endpoint);
  if (limit) isChanged = keepWithin(body, limit, { operation, rules: target.rules }) || isChanged;
  const unsent = endpoint.dialect.forwardHeader ? forwardedHeaders(call, endpoint).dropped : NOTHING;
  const dropped = unsent.length > 0 ? [...(adapted?.dropped ?? NOTHING), ...unsent] : (adapted?.dropped ?? NOTHING);
  return { body, isChanged: isChanged || adapted?.changed === true, dropped };
}

/** Usage is always requested for an upstream stream, but shown to the client only if it requested it. */
function streamUsageToAdd({ operation, stream, body }: InferenceCall): CompleteOperation['streamUsage'] {
  const usage = operation.name === 'complete' && stream ? operation.streamUsage : undefined;
  return usage?.asked(body) ? undefined : usage;
}

interface Respelling {
  operation: Operation;
  target: Target;
  /** Members to insert first, each with a comma. */
  prefix: string;
}

function respell(bytes: Buffer, { operation, target, prefix }: Respelling): OutgoingBody | Promise<OutgoingBody> {
  const { paths, required, spell } = operation.requestModel;
  const name = JSON.stringify(spell(target.model));
  const found = paths.map((path) => findSpan(bytes, path));
  const isLarge = found.some((span) => span instanceof Promise);
  return isLarge ? Promise.all(found).then(spliced) : spliced(found as (Span | undefined)[]);

  function spliced(named: readonly (Span | undefined)[]): OutgoingBody {
    const spans = named.filter((span) => span !== undefined).sort((one, other) => one.start - other.start);
    const [first] = paths;
    const isMissing = spans.length === 0 && required && first !== undefined;
    const members = prefix + (isMissing ? `${JSON.stringify(first[0])}:${name},` : '');
    const pieces: Buffer[] = [];
    let position = 0;
    if (members !== '') {
      position = bytes.indexOf('{') + 1;
      pieces.push(bytes.subarray(0, position), Buffer.from(members));
    }
    for (const { start, end } of spans) {
      pieces.push(bytes.subarray(position, start), Buffer.from(name));
      position = end;
    }
    if (pieces.length === 0) return bytes;
    pieces.push(bytes.subarray(position));
    if (bytes.length <= MAX_TEXT_BYTES) return pieces;
    return bytes.length <= MAX_COPIED_BYTES ? Buffer.concat(pieces) : withSmallJoined(pieces);
  }
}

/** Size up to which a connection writes head and body as one text, also of several pieces. */
const MAX_TEXT_BYTES = 12 * 1024;
/** Size up to which a body is copied, since a list of slices takes several writes. */
const MAX_COPIED_BYTES = 64 * 1024;

/** Joins small pieces to the pieces before them; the bytes stay the same. */
function withSmallJoined(pieces: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last && last.length + piece.length <= MAX_COPIED_BYTES)
      joined[joined.length - 1] = Buffer.concat([last, piece]);
    else joined.push(piece);
  }
  return joined;
}

/** The model may be filled in, so that it is not the one in the bytes. */
function modelMembers({ requestModel }: Operation): string[] {
  return requestModel.paths.flatMap(([name = '']) => name);
}

function renameModel(body: Json, { requestModel }: Operation, target: Target): void {
  const { paths, spell } = requestModel;
  for (const path of paths) {
    const holder = valueAt(body, path.slice(0, -1));
    const last = path.at(-1) as string;
    if (isObject(holder) && holder[last] !== undefined) holder[last] = spell(target.model);
  }
}
