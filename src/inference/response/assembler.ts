/** Response assembler: joins the rounds of an upstream's response to one message, with the client's tool names. */

import type { ChatEvent, ChatResponse, Finish, OpenPart, ToolUse, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { createFolder } from '../../core/fold.ts';
import { REQUEST_LIMITS, scan, TEXT_VALUES } from '../../core/json/scan.ts';
import type { AnswerFacts } from '../../core/operation.ts';
import type { ShownUse } from '../../core/output.ts';
import { createCallIds } from '../../core/results.ts';
import { addToolUse, boundFacts, COUNT_FIELDS, withToolUse } from '../../core/usage-bounds.ts';
import type { Plan } from '../request/planned-request.ts';
import { restoreName } from '../request/tool-names.ts';
import { estimateOutput, estimateTokens } from '../tokens/estimate.ts';
import { createUnwrapper } from './wrapped-answer.ts';

/** Maximum number of rounds; the response ends after the last one. */
const MAX_ROUNDS = 8;

export interface ResponseAssembler {
  /** Converts an event of a round to events of the whole message; none if it only separates two rounds. */
  join(event: ChatEvent): ChatEvent[];
  /** Request body of the next round if the last one paused. */
  next(): Buffer | undefined;
  /** Parts of the first candidate so far. */
  parts(): OpenPart[];
  /** Id and model of the first round, finish reason of the last one. */
  facts(): AnswerFacts;
  /** Usage of a response that was cut off while the client read it: that of the rounds that ended and of the `open` one, or an estimate of its parts where that is more. */
  partialUsage(open: Usage | undefined): Usage;
  /** Usage of a response of which the client gets nothing: that of the rounds that ended and of the `open` one, estimated where the upstream did not count; undefined if nothing was generated. */
  generatedUsage(open: Usage | undefined): Usage | undefined;
  /** The whole response; throws `upstream_error` before its end. */
  response(): ChatResponse;
}

export function createResponseAssembler(plan: Plan): ResponseAssembler {
  const { request, target, toolNames, continueWith, upstream } = plan;
  const unwrap = createUnwrapper(plan);
  const checkArguments = createArgumentCheck();
  /** Ids of the calls of each candidate. */
  const callIds: ((id: string) => string)[] = [];
  const whole = createFolder();
  let paused: Finish | undefined;
  let facts: AnswerFacts = {};
  let usage: Usage | undefined;
  /** The usage has that of the current round. */
  let isCounted = false;
  let round = 1;
  let offset = 0;
  let count = 0;
  let candidates = 1;

  function pauses({ reason, token }: Finish): boolean {
    if (!continueWith || round >= MAX_ROUNDS) return false;
    return reason === 'paused' ? isContinued() : reason === 'continuation' && token !== undefined;
  }

  /** Whether the upstream goes on with the answer so far: a model that continues no text does so after a tool of its provider. */
  function isContinued(): boolean {
    return target.rules.prefill === true || whole.parts(0).some(({ type }) => type === 'native');
  }

  /** Use of tools that the answer has shown so far. */
  function toolUse(): ToolUse {
    const { tools } = upstream.operations.complete;
    return whole.parts(0).reduce<ShownUse>((sum, part) => {
      const use = part.type === 'native' ? tools?.usedIn(part.value) : part.type === 'media' ? part.toolUse : undefined;
      return use ? addToolUse(sum, use) : sum;
    }, {});
  }

  /** Without its input, for a request that was not decoded. */
  function estimate(): Usage {
    const parts = Array.from({ length: candidates }, (_, index) => whole.parts(index)).flat();
    const output = estimateOutput(textOfParts(parts));
    return { input: request ? estimateTokens(request) : 0, output, estimated: true };
  }

  /** Reported usage, with an estimate of an input or an output that the upstream did not count. */
  function counted(usage: Usage | undefined): Usage {
    if (usage && usage.output > 0 && usage.input > 0 && !usage.estimated) return usage;
    const own = estimate();
    if (!usage) return own;
    const output = usage.estimated ? Math.max(usage.output, own.output) : usage.output || own.output;
    if (output === 0) return usage;
    return { ...usage, input: usage.input || own.input, output, estimated: true, rounds: undefined };
  }

  /** The event of a part with its index in the whole message. */
  function moved<Event extends { index: number }>(event: Event): Event {
    count = Math.max(count, offset + event.index + 1);
    return offset === 0 ? event : { ...event, index: event.index + offset };
  }

  /** The part with an id of its own among the calls of its candidate. */
  function withOwnId(part: OpenPart, candidate: number): OpenPart {
    if (part.type !== 'call') return part;
    callIds[candidate] ??= createCallIds();
    const id = callIds[candidate](part.id);
    return id === part.id ? part : { ...part, id };
  }

  function joined(event: ChatEvent): ChatEvent | undefined {
    switch (event.type) {
      case 'message-start':
        facts.id ??= event.id || undefined;
        facts.model ??= event.model;
        return round === 1 ? { ...event, id: target.answerId ?? event.id } : undefined;
      case 'part-start':
        candidates = Math.max(candidates, event.candidate + 1);
        return moved({ ...event, part: withOwnId(event.part, event.candidate) });
      case 'part-delta':
      case 'part-end':
        return moved(event);
      case 'candidate-end':
        if (event.candidate === 0) facts = { ...facts, finish: event.finish.raw };
        paused = event.candidate === 0 && pauses(event.finish) ? event.finish : paused;
        return paused ? undefined : event;
      case 'message-end':
        usage = sum(usage, event.usage);
        isCounted = true;
        return paused ? undefined : { ...event, usage: counted(usage) };
      case 'ping':
      case 'error':
        return event;
    }
  }

  return {
    join(event) {
      if (event.type === 'part-start') assertCallable(event.part);
      checkArguments(event);
      const result = joined(event);
      const events = result ? unwrap(restoreName(result, toolNames)) : [];
      for (const one of events) whole.add(one);
      return events;
    },
    next() {
      if (!paused || !continueWith) return undefined;
      const body = continueWith(whole.parts(0), paused, usage?.output ?? 0);
      paused = undefined;
      offset = count;
      isCounted = false;
      round++;
      return body;
    },
    parts: () => whole.parts(0),
    facts: () => boundFacts(facts),
    partialUsage(open) {
      const own = estimate();
      const reported = isCounted ? usage : sum(usage, open);
      const partial: Usage = withToolUse({ ...own, ...reported, estimated: true }, toolUse());
      if (own.output > partial.output) Object.assign(partial, { output: own.output, rounds: undefined });
      return partial;
    },
    generatedUsage(open) {
      const reported = isCounted ? usage : sum(usage, open);
      return reported || count > 0 ? withToolUse(counted(reported), toolUse()) : undefined;
    },
    response: whole.response,
  };
}

/** Throws for a call without a tool name or id, which no client can answer. */
function assertCallable(part: OpenPart): void {
  if (part.type !== 'call' || (part.id && part.name)) return;
  const missing = part.name ? 'id' : 'name';
  throw new GatewayError('upstream_error', `The upstream sent a tool call without its ${missing}.`);
}

/** Throws for calls with too many values, or too deep ones, in their arguments: encoders read those of a call all at once. */
function createArgumentCheck(): (event: ChatEvent) => void {
  const open = new Map<number, string>();
  let characters = 0;
  let values = TEXT_VALUES;

  function count(text: string): void {
    characters += text.length;
    // Shorter ones have no more values.
    if (characters <= TEXT_VALUES) return;
    const limits = { ...REQUEST_LIMITS, values };
    values -= scan(Buffer.from(text), { limits, watch: undefined, refuse: tooMuch }).values;
  }

  return (event) => {
    if (event.type === 'part-start') {
      if (event.part.type === 'call' && !event.part.custom) open.set(event.index, event.part.args);
    } else if (event.type === 'part-delta' || event.type === 'part-end') {
      const text = open.get(event.index);
      if (text === undefined) return;
      if (event.type === 'part-delta') open.set(event.index, text + (event.text ?? ''));
      else if (open.delete(event.index)) count(text);
    }
  };
}

function tooMuch(what: string): GatewayError {
  return new GatewayError('upstream_error', `The arguments of the calls in the answer have too much: a call ${what}.`);
}

/** All text of the parts. */
export function textOfParts(parts: readonly OpenPart[]): string {
  return parts.map(wordsIn).join(' ');
}

function wordsIn(part: OpenPart): string {
  if (part.type === 'call') return `${part.name} ${part.args}`;
  return part.type === 'text' || part.type === 'reasoning' || part.type === 'refusal' ? part.text : '';
}

function sum(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (!one || !other) return one ?? other;
  const total: Usage = { ...one, ...other, rounds: [...(one.rounds ?? [one]), other] };
  for (const name of COUNTS) {
    if (one[name] !== undefined || other[name] !== undefined) total[name] = (one[name] ?? 0) + (other[name] ?? 0);
  }
  return total;
}

const COUNTS = ['input', 'output', ...COUNT_FIELDS, 'reportedCost'] as const satisfies (keyof Usage)[];
