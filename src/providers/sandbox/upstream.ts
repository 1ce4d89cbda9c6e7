/** Sandbox upstream: handles requests in the process, as a remote provider would. */

import { GatewayError } from '../../core/errors.ts';
import { lookUp } from '../../core/plain-objects.ts';
import type { LocalRequest, LocalResponse, LocalUpstream } from '../../core/provider.ts';
import { type SandboxAnswer, truncate } from './answer.ts';
import type { SandboxClock } from './clock.ts';
import { echo } from './echo.ts';
import { embed } from './embed.ts';
import { type FaultScript, faulty, scriptOf } from './faulty.ts';
import { CONTEXT_TOKENS, MAX_OUTPUT_TOKENS } from './models.ts';
import { reasoner } from './reasoner.ts';
import { decodeRequest, type SandboxRequest } from './request.ts';
import { sendReply } from './send.ts';
import { tools } from './tools.ts';
import { createVideoServer, VIDEO_PATH } from './video/server.ts';
import { encodeError, encodeFrames, encodeWhole } from './wire.ts';

const MODELS: Record<string, (request: SandboxRequest) => SandboxAnswer> = { echo, tools, reasoner, faulty };

const NO_FAULT: FaultScript = { fault: { type: 'none' }, slow: 0, pause: 0 };

export function createSandboxUpstream(clock: SandboxClock): LocalUpstream {
  const videos = createVideoServer(clock);
  return async (request) => {
    try {
      return VIDEO_PATH.test(request.path) ? videos(request) : await respond(request, clock);
    } catch (thrown) {
      if (request.signal.aborted || !(thrown instanceof GatewayError)) throw thrown;
      return errorResponse(thrown);
    }
  };
}

async function respond({ path, body, signal }: LocalRequest, clock: SandboxClock): Promise<LocalResponse> {
  if (path.endsWith('/embeddings')) return embed(body);
  if (!path.endsWith('/chat/completions')) throw new GatewayError('not_found', `The sandbox has no ${path}.`);
  const request = await decodeRequest(body, { context: CONTEXT_TOKENS, output: MAX_OUTPUT_TOKENS });
  const speak = lookUp(MODELS, request.model);
  if (!speak) {
    const known = Object.keys(MODELS).join(', ');
    throw new GatewayError('model_not_found', `The sandbox has no model ${request.model}, only ${known}.`, {
      param: 'model',
    });
  }
  const answer = truncate(speak(request), request.limit);
  const created = Math.floor(clock.now() / 1000);
  const chunks = request.stream
    ? encodeFrames(answer, request, created)
    : [JSON.stringify(encodeWhole(answer, request, created))];
  const script = request.model === 'faulty' ? scriptOf(request.text) : NO_FAULT;
  return sendReply({ id: request.id, stream: request.stream, chunks, script, clock, signal });
}

function errorResponse(error: GatewayError): LocalResponse {
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(JSON.stringify(encodeError(error)));
  }
  return { status: error.status, headers: { 'content-type': 'application/json' }, body: body() };
}
