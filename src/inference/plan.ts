/** Decides which of the three ways a request takes to an endpoint, and makes its upstream body. */

import { setImmediate as breathe } from 'node:timers/promises';
import type { ChatRequest, Finish, OpenPart } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { copyJson, type Json, type Span, spanAt, splice } from '../core/json.ts';
import type { Protocol, Target } from '../core/protocol.ts';
import { protocolOf } from '../protocols/index.ts';
import { type Call, type Endpoint, originOf, rulesOf } from './call.ts';
import type { StateMemory } from './memory.ts';
import { renameTools } from './tool-names.ts';

/**
 * `bytes`: the client's bytes with another model name. `edit`: the client's JSON, adjusted to a dialect.
 * `canonical`: decoded to the hub and encoded in another protocol.
 */
export type Path = 'bytes' | 'edit' | 'canonical';

export interface Plan {
  path: Path;
  upstream: Protocol;
  target: Target;
  body: Buffer;
  /** What the target can't carry, in the client's spelling. */
  dropped: string[];
  /** The decoded request, on the canonical path. */
  request?: ChatRequest;
  /** The client's names of tools that have another one upstream. */
  toolNames?: ReadonlyMap<string, string>;
  /** The upstream body that goes on with an answer that stopped only to be continued; on the canonical path. */
  continueWith?(parts: OpenPart[], finish: Finish): Buffer;
}

/** A change to the decoded request that needs I/O, such as fetching an image that the upstream won't. */
export type Prepare = (request: ChatRequest, endpoint: Endpoint, signal: AbortSignal) => Promise<void>;

export interface PlanOptions {
  prepare: Prepare;
  memory: StateMemory;
  /** Aborted when the client leaves. */
  signal: AbortSignal;
}

/** Throws `unsupported_*` or `invalid_request`, in the client's terms, when the endpoint cannot do what is asked. */
export async function plan(call: Call, endpoint: Endpoint, { prepare, memory, signal }: PlanOptions): Promise<Plan> {
  const upstream = protocolOf(endpoint.provider.protocol);
  const target: Target = { origin: originOf(endpoint), model: endpoint.model.upstreamId, rules: rulesOf(endpoint) };
  if (upstream === call.protocol) return relayed(call, endpoint, target);
  const complete = async (request: ChatRequest): Promise<void> => {
    memory.restore(call.owner, target.origin, request.turns);
    await prepare(request, endpoint, signal);
  };
  return canonical(call, endpoint, { upstream, target, complete });
}

function relayed(call: Call, endpoint: Endpoint, target: Target): Plan {
  const { protocol, bytes } = call;
  const body = copyJson(call.body);
  const edit = (dropped: string[]): Plan => {
    renameModel(body, protocol, target);
    return { path: 'edit', upstream: protocol, target, body: Buffer.from(JSON.stringify(body)), dropped };
  };

  let changed = false;
  for (const field of protocol.gatewayFields) {
    if (body[field] === undefined) continue;
    delete body[field];
    changed = true;
  }
  changed = protocol.restoreState(body, target.origin) || changed;
  const usage = wantsUsage(call) ? protocol.streamUsage : undefined;
  const addsUsage = usage !== undefined && body[usage.field] === undefined;
  if (usage) {
    changed ||= !addsUsage;
    body[usage.field] = { ...body[usage.field], ...usage.value };
  }
  const adapted = call.action === 'generate' ? endpoint.provider.adapt?.(body, target.rules) : undefined;
  if (changed || adapted?.changed) return edit(adapted?.dropped ?? []);

  const renamed = respell(bytes, protocol, target);
  const prefix = addsUsage ? `${JSON.stringify(usage.field)}:${JSON.stringify(usage.value)},` : '';
  const spliced = prefix === '' ? renamed : insertFirst(renamed, prefix);
  return { path: 'bytes', upstream: protocol, target, body: spliced, dropped: [] };
}

/** Usage is always asked of an upstream stream; the client is only shown it if it asked itself. */
function wantsUsage(call: Call): boolean {
  const usage = call.protocol.streamUsage;
  return usage !== undefined && call.stream && call.action === 'generate' && !usage.asked(call.body);
}

function respell(bytes: Buffer, protocol: Protocol, target: Target): Buffer {
  const span: Span | undefined = spanAt(bytes, protocol.requestModel.path);
  return span ? splice(bytes, span, JSON.stringify(protocol.requestModel.spell(target.model))) : bytes;
}

function renameModel(body: Json, protocol: Protocol, target: Target): void {
  const { path, spell } = protocol.requestModel;
  let holder = body;
  for (const name of path.slice(0, -1)) holder = holder?.[name];
  const last = path.at(-1) as string;
  if (holder?.[last] !== undefined) holder[last] = spell(target.model);
}

function insertFirst(bytes: Buffer, members: string): Buffer {
  const open = bytes.indexOf('{') + 1;
  return splice(bytes, { start: open, end: open }, members);
}

/** Bytes of a body from which on others get their turn between two steps. */
const LARGE = 512 * 1024;

interface Translation {
  upstream: Protocol;
  target: Target;
  /** Gives the decoded request what it needs beyond what the client sent. */
  complete(request: ChatRequest): Promise<void>;
}

async function canonical(call: Call, endpoint: Endpoint, { upstream, target, complete }: Translation): Promise<Plan> {
  const request = call.protocol.decodeRequest(copyJson(call.body));
  request.stream = call.stream;
  const asClient = request.tools.map((tool) => ({ ...tool }));
  const toolNames = renameTools(request, upstream.toolName);

  function encode(asked: ChatRequest): { text: string; dropped: string[] } {
    const encoded = upstream.encodeRequest(asked, target);
    const adapted = endpoint.provider.adapt?.(encoded.body, target.rules);
    const wire = call.action === 'count' ? upstream.countBody?.(encoded.body, target) : encoded.body;
    return { text: JSON.stringify(wire), dropped: [...encoded.dropped, ...(adapted?.dropped ?? [])] };
  }

  try {
    await complete(request);
    if (call.bytes.length > LARGE) await breathe();
    const { text, dropped } = encode(request);
    if (call.bytes.length > LARGE) await breathe();
    const body = Buffer.from(text);
    const names = dropped.map((name) => call.protocol.parameterName(name));
    const continueWith = (parts: OpenPart[], finish: Finish) =>
      Buffer.from(encode(continued(request, parts, finish)).text);
    const all = [...new Set([...request.dropped, ...names])];
    return {
      path: 'canonical',
      upstream,
      target,
      body,
      dropped: all,
      request: { ...request, tools: asClient },
      toolNames,
      continueWith,
    };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.param === undefined) throw error;
    throw new GatewayError(error.code, error.message, {
      ...error,
      param: call.protocol.parameterName(error.param),
      cause: error,
    });
  }
}

/** The same request once more: with the token of the answer so far, or with the answer so far as its last turn. */
function continued(request: ChatRequest, parts: OpenPart[], { token }: Finish): ChatRequest {
  if (token !== undefined) return { ...request, continuation: token };
  return { ...request, turns: [...request.turns, { role: 'assistant', parts }] };
}
