/** Item decoder: the flat list of items of a Responses client as turns, each run of the assistant's items with its results. */

import { isDeepStrictEqual } from 'node:util';
import type { CallPart, Opaque, Part, ReasoningPart, ResultPart, TextPart, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';
import { decodeBuiltInCall, decodeBuiltInOutput } from './built-in-calls.ts';
import { isHostedItem, itemType, unknownItem } from './check-items.ts';
import { decodeContent, unknownFile } from './decode-content.ts';

export interface DecodedItems {
  turns: Turn[];
  /** Tools that joined in the conversation, as the client wrote them. */
  tools: Json[];
  /** Settings that the last updates in the conversation changed. */
  effort?: string;
  format?: Json;
  /** Names of items and members that other protocols have no place for. */
  dropped: string[];
}

/** Results of the calls of one run. */
interface Results {
  parts: ResultPart[];
  /** Number of calls by their id, which several may have. */
  calls: Map<string, number>;
  byCall: Map<string, ResultPart[]>;
}

/** Items of the assistant without another's between them. */
interface Run {
  parts: Part[];
  hasWords: boolean;
  results: Results;
  carried?: Opaque;
}

/** Between two messages of one run, which other protocols join. */
const SEPARATOR: TextPart = { type: 'text', text: '\n\n' };

export function decodeItems(items: Json[], path = 'input'): DecodedItems {
  const decoded: DecodedItems = { turns: [], tools: [], dropped: [] };
  const { turns, tools } = decoded;
  const dropped = new Set<string>();
  const calls = new Map<string, { call: CallPart; results: Results }>();
  /** Ids by which outputs of the local shell name their call. */
  const callIds = new Map<string, string>();
  /** The run at hand. */
  let run: Run | undefined;

  function openRun(): Run {
    if (run) return run;
    run = { parts: [], hasWords: false, results: { parts: [], calls: new Map(), byCall: new Map() } };
    turns.push({ role: 'assistant', parts: run.parts });
    return run;
  }

  function closeRun(): void {
    if (!run) return;
    settleCarried(run);
    turns.push({ role: 'user', parts: run.results.parts });
    run = undefined;
  }

  function say(parts: Part[]): void {
    const open = openRun();
    settleCarried(open);
    if (parts.length > 0 && open.hasWords) open.parts.push(SEPARATOR);
    for (const part of parts) open.parts.push(part);
    open.hasWords ||= parts.some(isWords);
  }

  function call(part: CallPart): void {
    const { parts, results, carried } = openRun();
    if (carried) part.opaque = carried;
    openRun().carried = undefined;
    parts.push(part);
    results.calls.set(part.id, (results.calls.get(part.id) ?? 0) + 1);
    calls.set(part.id, { call: part, results });
  }

  function reason(part: ReasoningPart): void {
    const open = openRun();
    settleCarried(open);
    if (isCarrier(part)) open.carried = part.opaque;
    else if (part.text !== '' || part.opaque) open.parts.push(part);
  }

  function answer(callId: string, item: Json, result: { parts: Part[]; isError?: true }): void {
    closeRun();
    const known = calls.get(callId);
    const { name = known?.call.name, namespace = known?.call.namespace } = defined(item);
    const part: ResultPart = { type: 'result', callId, ...defined({ name, namespace }), ...result };
    if (known) addResult(known.results, part);
    else turns.push({ role: 'user', parts: [part] });
  }

  function decodeMessage(item: Json, at: string): void {
    const parts = decodeContent(item.content, `${at}.content`);
    if (item.phase) dropped.add('phase');
    if (item.role === 'assistant') say(parts);
    else {
      closeRun();
      const developer = item.role === 'developer' && { developer: true };
      turns.push({ role: item.role === 'user' ? 'user' : 'system', parts, ...developer });
    }
  }

  function decodeItem(item: Json, at: string): void {
    const type = itemType(item);
    if (item.status === 'incomplete') dropped.add('status');
    switch (type) {
      case 'message':
        decodeMessage(item, at);
        break;
      case 'reasoning':
        reason(decodeReasoning(item));
        break;
      case 'function_call':
      case 'custom_tool_call':
        call(decodeCall(item));
        break;
      case 'local_shell_call':
        if (typeof item.id === 'string') callIds.set(item.id, item.call_id);
        call(decodeBuiltInCall(item));
        break;
      case 'shell_call':
      case 'apply_patch_call':
      case 'computer_call':
        call(decodeBuiltInCall(item));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        answer(item.call_id, item, { parts: decodeContent(item.output, `${at}.output`) });
        break;
      case 'local_shell_call_output':
        answer(item.call_id ?? callIds.get(item.id) ?? item.id ?? '', {}, decodeBuiltInOutput(item));
        break;
      case 'shell_call_output':
      case 'apply_patch_call_output':
        answer(item.call_id, {}, decodeBuiltInOutput(item));
        break;
      case 'computer_call_output': {
        const screenshot = { ...item.output, type: 'input_image' };
        if (!screenshot.image_url) throw unknownFile(`${at}.output.file_id`);
        answer(item.call_id, {}, { parts: decodeContent([screenshot], `${at}.output`) });
        break;
      }
      case 'additional_tools':
        for (const tool of item.tools) tools.push(tool);
        break;
      case 'tool_search_output':
        for (const tool of item.tools ?? []) tools.push(tool);
        dropped.add(type);
        break;
      case 'configuration_update':
        decoded.effort = item.reasoning?.effort ?? decoded.effort;
        decoded.format = item.text?.format ?? decoded.format;
        break;
      case 'image_generation_call':
        if (item.result) say([generatedImage(item)]);
        else dropped.add(type);
        break;
      case 'compaction':
        throw foreignHistory(at);
      case 'tool_search_call':
      case 'compaction_trigger':
        dropped.add(type);
        break;
      default:
        if (!isHostedItem(type)) throw unknownItem(type, `${at}.type`);
        openRun().parts.push({ type: 'native', protocol: 'responses', value: item });
    }
  }

  for (const [index, item] of items.entries()) decodeItem(item, `${path}[${index}]`);
  closeRun();
  decoded.turns = turns.filter(({ parts }) => parts.length > 0);
  decoded.dropped = [...dropped].map((name) => `${path}.${name}`);
  return decoded;
}

/**
 * A call may have several outputs, which are one result elsewhere; a repeated one counts once. Calls with the same id have a
 * result each, in order.
 */
function addResult({ parts, calls, byCall }: Results, part: ResultPart): void {
  const results = byCall.get(part.callId) ?? [];
  const last = results.at(-1);
  if (!last || results.length < (calls.get(part.callId) ?? 1)) {
    byCall.set(part.callId, results);
    results.push(part);
    parts.push(part);
  } else if (!isDeepStrictEqual(last.parts, part.parts)) for (const piece of part.parts) last.parts.push(piece);
}

/** State that stood alone belongs to the text or call before it, else it is reasoning without text. */
function settleCarried(run: { parts: Part[]; carried?: Opaque }): void {
  const { parts, carried: opaque } = run;
  run.carried = undefined;
  const last = parts.at(-1);
  if (!opaque) return;
  if (last?.type === 'text' || last?.type === 'call') last.opaque = opaque;
  else parts.push({ type: 'reasoning', text: '', opaque });
}

/** Reasoning without text that carries the state of a call or text of another protocol. */
function isCarrier({ text, opaque }: ReasoningPart): boolean {
  return text === '' && opaque?.kind === 'signature' && opaque.origin !== undefined;
}

function isWords(part: Part): boolean {
  return part.type === 'text' || part.type === 'refusal';
}

function decodeCall({ type, call_id: id, name, namespace, arguments: args, input }: Json): CallPart {
  const custom = type === 'custom_tool_call' && { custom: true };
  return { type: 'call', id, name, ...(namespace && { namespace }), args: input ?? args ?? '', ...custom };
}

/** The reasoning itself if it is there, else its summary. State without an envelope has no known origin. */
function decodeReasoning({ summary, content, encrypted_content: state }: Json): ReasoningPart {
  const full = textsOf(content).join('');
  const text = full === '' ? textsOf(summary).join('\n\n') : full;
  const opaque = unwrap(state) ?? (state ? { kind: 'encrypted' as const, value: state } : undefined);
  return { type: 'reasoning', text, form: full === '' ? 'summary' : 'full', ...(opaque?.value && { opaque }) };
}

function textsOf(parts: Json): string[] {
  const texts: unknown[] = (Array.isArray(parts) ? parts : []).map((part) => part?.text);
  return texts.filter((text): text is string => typeof text === 'string' && text !== '');
}

function generatedImage({ result, output_format: format }: Json): Part {
  return { type: 'media', kind: 'image', mime: `image/${format ?? 'png'}`, data: result };
}

function foreignHistory(param: string): GatewayError {
  const message = `${param} holds compacted history that only its own provider can read; send the items themselves.`;
  return new GatewayError('unsupported_parameter', message, { param });
}

function defined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
