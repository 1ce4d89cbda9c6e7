/** Calls of an answer as items, and the events of a stream that carry them. */

import type { CallPart, Finish, Opaque } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isBlank, type Json, parseObject } from '../../core/json/json.ts';
import { builtInPrefix, encodeBuiltInCall } from './built-in-calls.ts';
import type { Emit, ItemPlace } from './encode-stream-message.ts';

/** Place of a call that is being written, once its item has been opened, and its state. */
interface CallPlace {
  place?: ItemPlace;
  opaque?: Opaque | undefined;
}

export interface CallWriter {
  start(current: CallPlace, part: CallPart): void;
  grow(current: CallPlace, part: CallPart, text: string): void;
  end(current: CallPlace, part: CallPart): void;
  /** Whether the last call lacks arguments, or the rest of them. */
  isUnsettled(): boolean;
  /** Completes the last call when words or another part follow: the output limit cannot have cut it. Throws for broken arguments. */
  settle(): void;
  /** Ends the last call with the answer. Throws `upstream_error` for invalid arguments, unless the answer was cut. */
  finish(reason: Finish['reason'], isCut: boolean): void;
}

interface CallItems {
  emit: Emit;
  nextPlace(prefix: string): ItemPlace;
  add(place: ItemPlace, item: Json): void;
  done(place: ItemPlace, item: Json): void;
  /** Writes state that has no item of its own. */
  carry(opaque: Opaque | undefined): void;
  closeMessage(): void;
  /** Built-in tools that the client runs. */
  builtIns: readonly string[];
}

const NO_ARGUMENTS = '{}';
/** Reasons after which a last call without arguments lacks them. */
const LIMITED: readonly Finish['reason'][] = ['length', 'context-full'];

export function createCallWriter({ emit, nextPlace, add, done, carry, closeMessage, builtIns }: CallItems): CallWriter {
  /** The last call, if its arguments are not complete JSON. */
  let broken: { part: CallPart; place?: ItemPlace | undefined } | undefined;
  /** The last call if it has no arguments, held back because the output limit may have cut them. */
  let bare: { current: CallPlace; part: CallPart } | undefined;

  function start(current: CallPlace, part: CallPart): void {
    closeMessage();
    carry(current.opaque);
    current.opaque = undefined;
    if (isBuiltIn(part)) return;
    current.place = nextPlace(part.custom ? 'ctc' : 'fc');
    add(current.place, encodeCall({ ...part, args: '' }, current.place, 'in_progress'));
  }

  function isBuiltIn({ name, namespace, custom }: CallPart): boolean {
    return namespace === undefined && !custom && builtIns.includes(name);
  }

  function grow({ place }: CallPlace, { custom }: CallPart, text: string): void {
    if (!place) return;
    const type = custom ? 'custom_tool_call_input.delta' : 'function_call_arguments.delta';
    emit(type, { item_id: place.id, output_index: place.index, delta: text });
  }

  /** A call that was cut off before its arguments stays without them. */
  function settleBare(isCut: boolean): void {
    if (!bare) return;
    const { current, part } = bare;
    bare = undefined;
    if (isCut) {
      if (current.place) endArguments(part, current.place, 'incomplete');
      return;
    }
    part.args += NO_ARGUMENTS;
    grow(current, part, NO_ARGUMENTS);
    close(current, part);
  }

  function close(current: CallPlace, part: CallPart): void {
    if (!part.custom && parseObject(part.args) === undefined) broken = { part, place: current.place };
    else if (current.place) endArguments(part, current.place, 'completed');
    else runBuiltIn(part, nextPlace(builtInPrefix(part.name) ?? 'fc'));
    carry(current.opaque);
  }

  function runBuiltIn(part: CallPart, place: ItemPlace): void {
    const item = encodeBuiltInCall(part, place.id);
    add(place, { ...item, status: 'in_progress' });
    done(place, item);
  }

  function endArguments(part: CallPart, place: ItemPlace, status: 'completed' | 'incomplete'): void {
    const about = { item_id: place.id, output_index: place.index };
    const { name, args } = part;
    if (part.custom) emit('custom_tool_call_input.done', { ...about, input: args });
    else emit('function_call_arguments.done', { ...about, name, arguments: args });
    done(place, encodeCall(part, place, status));
  }

  return {
    start,
    grow,
    end(current, part) {
      if (!part.custom && isBlank(part.args)) bare = { current, part };
      else close(current, part);
    },
    isUnsettled: () => broken !== undefined || bare !== undefined,
    settle() {
      if (broken) throw malformed();
      settleBare(false);
    },
    finish(reason, isCut) {
      settleBare(LIMITED.includes(reason));
      if (reason === 'malformed' || (broken && !isCut)) throw malformed();
      if (broken?.place) endArguments(broken.part, broken.place, 'incomplete');
    },
  };
}

function encodeCall(part: CallPart, place: ItemPlace, status: string): Json {
  const { id: call_id, name, namespace, args, custom } = part;
  const type = custom ? 'custom_tool_call' : 'function_call';
  const input = custom ? { input: args } : { arguments: args };
  return { type, id: place.id, call_id, name, ...(namespace !== undefined && { namespace }), ...input, status };
}

function malformed(): GatewayError {
  return new GatewayError('upstream_error', 'The model wrote a malformed answer.');
}
