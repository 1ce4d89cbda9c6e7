/** Compaction of conversations: relayed to providers that have it, else a summary by the model itself. */

import { GatewayError } from '../core/errors.ts';
import { writeBody } from '../core/json/body.ts';
import { parseObject } from '../core/json/json.ts';
import type { Operation, RouteMatch } from '../core/operation.ts';
import { newRequestId } from '../core/request-id.ts';
import { isMissing } from '../inference/candidate-plan.ts';
import type { Output } from '../inference/response/converter.ts';
import type { Reply } from '../inference/response/reply.ts';
import { compactionOf, summaryRequest } from '../protocols/responses/compaction.ts';
import { inputItems } from '../protocols/responses/stored.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { AppOptions } from './app-options.ts';
import { errorResponse } from './errors.ts';
import { checkContentType, decideCall, handleCall, readCall } from './inference.ts';
import type { RequestContext } from './request-context.ts';

/** Name of the path among the protocols that a server turned out not to serve. */
const ABSENT_PATH = 'responses/compact';

export async function handleCompaction(
  context: RequestContext,
  { operation, match }: { operation: Operation; match: RouteMatch },
  options: AppOptions,
): Promise<void> {
  const { headers } = context.request;
  checkContentType(headers['content-type'], headers['content-encoding']);
  const call = await readCall(context, { operation, match });
  const { state } = options.dispatch();
  const { candidates } = await decideCall(context, { call, match, state }, options);
  const { body } = call;
  async function summarize(): Promise<void> {
    if (!options.stored.maySummarize()) throw notCompacted();
    return handleSummary(context, { ...call, body }, options);
  }
  const provider = candidates[0]?.endpoint.provider.id ?? '';
  const speaks = candidates[0]?.endpoint.dialect.protocol === call.protocol.id;
  if (!speaks || state.absent.has(provider, ABSENT_PATH)) return summarize();
  function onRefused(error: GatewayError): Promise<void> | undefined {
    if (!isMissing(error)) return undefined;
    // The server may serve the other paths of the protocol.
    state.absent.mark(provider, ABSENT_PATH);
    return summarize();
  }
  return handleCall(context, { call, match, onRefused }, options);
}

function notCompacted(): GatewayError {
  const message =
    'The provider of this model does not compact conversations, and no other may do it here: compact with another model, or send the whole conversation.';
  return new GatewayError('unsupported_parameter', message, { param: 'model' });
}

function nothingGiven(): GatewayError {
  const message = 'There is nothing to compact: input or previous_response_id is needed.';
  return new GatewayError('invalid_request', message, { param: 'input' });
}

/** Asks the model for a summary, as a request of its own. */
async function handleSummary(context: RequestContext, asked: InferenceCall, options: AppOptions): Promise<void> {
  const { protocol, bytes } = asked;
  const { input, previous_response_id: previous } = asked.body;
  const items = inputItems(input);
  if (items.length === 0 && !previous) throw nothingGiven();
  const body = summaryRequest(asked.body, items);
  if (previous) body.previous_response_id = previous;
  const call: InferenceCall = {
    ...asked,
    requestId: newRequestId(),
    operation: protocol.operations.complete,
    body,
    bytes: await writeBody(body, bytes.length),
    scanned: undefined,
    asked: undefined,
    limitOf: undefined,
  };
  const wrapReply = (reply: Reply) => compactingReply(reply, { call, items });
  return handleCall(context, { call, match: {}, wrapReply }, options);
}

/** A reply whose whole response becomes a compaction. Errors pass. */
function compactingReply(reply: Reply, { call, items }: { call: InferenceCall; items: readonly object[] }): Reply {
  let head: { status: number; headers: Record<string, string> } | undefined;
  return {
    head(status, headers) {
      head = { status, headers };
    },
    write: (output) => reply.write(output),
    get full() {
      return reply.full;
    },
    get waiting() {
      return reply.waiting;
    },
    onDrain: (listener) => reply.onDrain(listener),
    end(output, trailers) {
      const { status = 200, headers = {} } = head ?? {};
      const compacted = status === 200 ? compact(output) : undefined;
      if (status !== 200) send(status, headers, output);
      else if (compacted) send(200, headers, compacted);
      else {
        const failed = new GatewayError('upstream_error', 'The model gave no summary of the conversation.');
        const { status: code, headers: more, body } = errorResponse(failed, call.protocol, call.requestId);
        send(code, { ...headers, ...more }, body);
      }
      function send(code: number, sent: Record<string, string>, bytes: Output = ''): void {
        reply.head(code, { ...sent, 'content-length': String(Buffer.byteLength(bytes)) });
        reply.end(bytes, trailers);
      }
    },
    onClose: (listener) => reply.onClose(listener),
    onDone: (listener) => reply.onDone(listener),
  };

  function compact(output: Output | undefined): Buffer | undefined {
    const compaction = compactionOf(parseObject(String(output ?? '')) ?? {}, items);
    return compaction && Buffer.from(JSON.stringify(compaction));
  }
}
