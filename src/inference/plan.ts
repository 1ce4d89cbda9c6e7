/** Decides which of the three ways a request takes to an endpoint, and makes its upstream body. */

import type { ChatRequest } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { copyJson, type Json, type Span, spanAt, splice } from '../core/json.ts';
import { ENVELOPE_MARK } from '../core/opaque.ts';
import type { Protocol, Target } from '../core/protocol.ts';
import { protocolOf } from '../protocols/index.ts';
import { type Call, type Endpoint, originOf, rulesOf } from './call.ts';

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
}

/** A change to the decoded request that needs I/O, such as fetching an image that the upstream won't. */
export type Prepare = (request: ChatRequest, endpoint: Endpoint, signal: AbortSignal) => Promise<void>;

/** Throws `unsupported_*` or `invalid_request`, in the client's terms, when the endpoint cannot do what is asked. */
export async function plan(call: Call, endpoint: Endpoint, prepare: Prepare, signal: AbortSignal): Promise<Plan> {
  const upstream = protocolOf(endpoint.provider.protocol);
  const target: Target = { origin: originOf(endpoint), model: endpoint.model.upstreamId, rules: rulesOf(endpoint) };
  if (upstream === call.protocol) return relayed(call, endpoint, target);
  return canonical(call, endpoint, { upstream, target, prepare: (request) => prepare(request, endpoint, signal) });
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
  if (bytes.includes(ENVELOPE_MARK)) changed = protocol.restoreState(body, target.origin) || changed;
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

interface Translation {
  upstream: Protocol;
  target: Target;
  prepare(request: ChatRequest): Promise<void>;
}

async function canonical(call: Call, endpoint: Endpoint, { upstream, target, prepare }: Translation): Promise<Plan> {
  const request = call.protocol.decodeRequest(copyJson(call.body));
  request.stream = call.stream;
  try {
    await prepare(request);
    const encoded = upstream.encodeRequest(request, target);
    const adapted = endpoint.provider.adapt?.(encoded.body, target.rules);
    const wire = call.action === 'count' ? upstream.countBody?.(encoded.body, target) : encoded.body;
    const dropped = encoded.dropped.map((name) => call.protocol.parameterName(name));
    const body = Buffer.from(JSON.stringify(wire));
    const all = new Set([...request.dropped, ...dropped, ...(adapted?.dropped ?? [])]);
    return { path: 'canonical', upstream, target, body, dropped: [...all], request };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.param === undefined) throw error;
    throw new GatewayError(error.code, error.message, {
      ...error,
      param: call.protocol.parameterName(error.param),
      cause: error,
    });
  }
}
