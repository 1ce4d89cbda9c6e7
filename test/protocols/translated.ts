/** A client's request as an upstream of another protocol gets it, and an answer on its way back. */

import type { Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import type { EncoderOptions, Target } from '../../src/core/operation.ts';
import { settleResults } from '../../src/core/results.ts';
import { protocols } from '../../src/protocols/index.ts';

export type ProtocolId = 'chat' | 'messages' | 'generate' | 'responses';

function protocolOf(id: ProtocolId) {
  const found = protocols.find((protocol) => protocol.id === id);
  if (!found) throw new Error(`no protocol ${id}`);
  return found;
}

function targetOf(rules: ModelRules): Target {
  return { origin: 'acme/family', model: 'm', rules };
}

/** The upstream's body, and the dropped fields by the client's names. */
export function sent(client: ProtocolId, upstream: ProtocolId, body: Json, rules: ModelRules = {}) {
  const { operations, parameterName } = protocolOf(client);
  const asked = { model: 'm', ...body };
  operations.complete.check(asked);
  const request = operations.complete.decodeRequest(asked);
  const settled = settleResults(request.turns, { counted: false });
  const encoded = protocolOf(upstream).operations.complete.encodeRequest(
    { ...request, turns: settled.turns },
    targetOf(rules),
  );
  const names = [...settled.dropped, ...encoded.dropped].map(parameterName);
  return { body: encoded.body as Json, dropped: [...request.dropped, ...names] };
}

const options: EncoderOptions = { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false };

/** A whole answer of the upstream as the client gets it. */
export function answered(client: ProtocolId, upstream: ProtocolId, body: Json): Json {
  const response = protocolOf(upstream).operations.complete.decodeResponse(body, targetOf({}));
  return protocolOf(client).operations.complete.encodeResponse(response, options);
}

/** The text of a stream to the client; `frames` are the data of the upstream's events. */
export function streamed(client: ProtocolId, upstream: ProtocolId, frames: Json[]): string {
  const decoder = protocolOf(upstream).operations.complete.streamDecoder(targetOf({}));
  const encoder = protocolOf(client).operations.complete.streamEncoder(options);
  const events = frames.flatMap((frame) =>
    decoder.decode({ data: typeof frame === 'string' ? frame : JSON.stringify(frame) }),
  );
  return [...events, ...decoder.end()].map((event) => encoder.encode(event)).join('') + encoder.end();
}
