/** Passthrough and patched requests to an upstream of the client's own protocol. */

import { writeBody, yieldIfLarge } from '../../core/json/body.ts';
import { findSpan } from '../../core/json/find.ts';
import { copyJson, isObject, type Json, splice, valueAt } from '../../core/json/json.ts';
import type { CompleteOperation, Operation, Target } from '../../core/operation.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { addOptions } from '../../routing/provider-options.ts';
import type { StateMemory } from '../state/memory.ts';
import { keepWithin } from './output-limit.ts';
import type { Plan } from './planned-request.ts';

interface Way {
  target: Target;
  memory: StateMemory;
}

/** The client's bytes if nothing must change, else its JSON with the changes of the gateway and the dialect. */
export async function planPassthrough(call: InferenceCall, endpoint: Endpoint, { target, memory }: Way): Promise<Plan> {
  const { protocol, operation, bytes } = call;
  // An upstream inside the gateway does not validate requests itself.
  if (endpoint.provider.local) operation.check(call.body);
  const body = copyJson(call.body);
  await yieldIfLarge(bytes.length);
  let changed = false;
  for (const field of operation.gatewayFields) {
    if (body[field] === undefined) continue;
    delete body[field];
    changed = true;
  }
  memory.wrapForeignState(body, operation, target.origin);
  changed = operation.state?.restore(body, target.origin) || changed;
  changed = addOptions(body, endpoint) || changed;
  const usage = streamUsageToAdd(call);
  const addsUsage = usage !== undefined && body[usage.field] === undefined;
  if (usage) {
    changed ||= !addsUsage;
    body[usage.field] = { ...body[usage.field], ...usage.value };
  }
  if (operation.name === 'embed') changed = operation.adjust(body, target) || changed;
  const adapted = operation.name === 'complete' ? endpoint.dialect.adapt?.(body, target.rules) : undefined;
  const limit = operation.name === 'complete' ? call.limitOf?.(endpoint) : undefined;
  if (limit && operation.name === 'complete') {
    changed = keepWithin(body, limit, { operation, rules: target.rules }) || changed;
  }
  if (changed || adapted?.changed) {
    renameModel(body, operation, target);
    const bytes = await writeBody(body, call.bytes.length);
    return { path: 'patched', upstream: protocol, operation, target, body: bytes, dropped: adapted?.dropped ?? [] };
  }

  await yieldIfLarge(bytes.length);
  const renamed = await respell(bytes, operation, target);
  const prefix = addsUsage ? `${JSON.stringify(usage.field)}:${JSON.stringify(usage.value)},` : '';
  const spliced = prefix === '' ? renamed : insertFirst(renamed, prefix);
  return { path: 'passthrough', upstream: protocol, operation, target, body: spliced, dropped: [] };
}

/** Usage is always requested for an upstream stream, but shown to the client only if it requested it. */
function streamUsageToAdd({ operation, stream, body }: InferenceCall): CompleteOperation['streamUsage'] {
  const usage = operation.name === 'complete' && stream ? operation.streamUsage : undefined;
  return usage?.asked(body) ? undefined : usage;
}

async function respell(bytes: Buffer, { requestModel }: Operation, target: Target): Promise<Buffer> {
  const { paths, required, spell } = requestModel;
  const name = JSON.stringify(spell(target.model));
  const found = await Promise.all(paths.map((path) => findSpan(bytes, path)));
  const spans = found.filter((span) => span !== undefined);
  const [first] = paths;
  if (spans.length === 0 && required && first) return insertFirst(bytes, `${JSON.stringify(first[0])}:${name},`);
  // From last to first, so that earlier offsets stay valid.
  return spans.sort((one, other) => other.start - one.start).reduce((text, span) => splice(text, span, name), bytes);
}

function renameModel(body: Json, { requestModel }: Operation, target: Target): void {
  const { paths, spell } = requestModel;
  for (const path of paths) {
    const holder = valueAt(body, path.slice(0, -1));
    const last = path.at(-1) as string;
    if (isObject(holder) && holder[last] !== undefined) holder[last] = spell(target.model);
  }
}

function insertFirst(bytes: Buffer, members: string): Buffer {
  const open = bytes.indexOf('{') + 1;
  return splice(bytes, { start: open, end: open }, members);
}
