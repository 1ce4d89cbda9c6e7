/** The sandbox as an upstream: the bytes of a request in, the bytes of an answer out. */

import { GatewayError } from '../../core/errors.ts';
import type { LocalAnswer, LocalRequest, LocalUpstream } from '../../core/provider.ts';
import { lookUp } from '../../core/table.ts';
import { limited, type SandboxAnswer } from './answer.ts';
import { deliver, type SandboxClock } from './delivery.ts';
import { echo } from './echo.ts';
import { faulty, type Script, scriptOf } from './faulty.ts';
import { CONTEXT_LENGTH, MAX_OUTPUT } from './models.ts';
import { reasoner } from './reasoner.ts';
import { decodeRequest, type SandboxRequest } from './request.ts';
import { tools } from './tools.ts';
import { createVideoServer, VIDEO_PATH } from './video/server.ts';
import { encodeError, encodeFrames, encodeWhole } from './wire.ts';

const ANSWERS: Record<string, (request: SandboxRequest) => SandboxAnswer> = { echo, tools, reasoner, faulty };

const SMOOTH: Script = { fault: { type: 'none' }, slow: 0, pause: 0 };

export function createSandboxUpstream(clock: SandboxClock): LocalUpstream {
  const videos = createVideoServer(clock);
  return async (request) => {
    try {
      return VIDEO_PATH.test(request.path) ? videos(request) : await respond(request, clock);
    } catch (thrown) {
      if (request.signal.aborted || !(thrown instanceof GatewayError)) throw thrown;
      return refuse(thrown);
    }
  };
}

async function respond({ path, body, signal }: LocalRequest, clock: SandboxClock): Promise<LocalAnswer> {
  if (!path.endsWith('/chat/completions')) throw new GatewayError('not_found', `The sandbox has no ${path}.`);
  const request = await decodeRequest(body, { context: CONTEXT_LENGTH, output: MAX_OUTPUT });
  const speak = lookUp(ANSWERS, request.model);
  if (!speak) {
    const known = Object.keys(ANSWERS).join(', ');
    throw new GatewayError('model_not_found', `The sandbox has no model ${request.model}, only ${known}.`, {
      param: 'model',
    });
  }
  const answer = limited(speak(request), request.limit);
  const created = Math.floor(clock.now() / 1000);
  const chunks = request.stream
    ? encodeFrames(answer, request, created)
    : [JSON.stringify(encodeWhole(answer, request, created))];
  const script = request.model === 'faulty' ? scriptOf(request.text) : SMOOTH;
  return deliver({ id: request.id, stream: request.stream, chunks, script, clock, signal });
}

function refuse(error: GatewayError): LocalAnswer {
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(JSON.stringify(encodeError(error)));
  }
  return { status: error.status, headers: { 'content-type': 'application/json' }, body: body() };
}
