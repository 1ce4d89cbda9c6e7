/** End of a response: the time that its stream has to close, its outcome, its storage, and its last bytes, which wait until both are durable. */

import { GatewayError } from '../../core/errors.ts';
import type { AnswerKeeper } from '../../routing/answer-keeper.ts';
import type { Deadline } from '../../transport/deadlines.ts';
import type { UpstreamReceiver } from '../../transport/upstream-client.ts';
import type { ResponseContext } from './context.ts';
import { type Ending, keepAnswer, tellNotStored } from './kept-answer.ts';

/** Time that an upstream gets to close its stream after the end of its response. */
export const UPSTREAM_CLOSE_TIMEOUT_MS = 250;
/** The same, where its counts or its end mark are missing. */
export const COUNTS_TIMEOUT_MS = 1000;

/** Reader of the body of one round. */
export type BodyReader = Pick<UpstreamReceiver, 'data' | 'end' | 'fail'>;

/** Deadline, to be set, for an upstream to close its stream. The body fails if it passes. */
export function watchClosing(context: ResponseContext, body: BodyReader): Deadline {
  return context.timer.watch(() => {
    context.abortUpstream();
    body.fail(new GatewayError('timeout', 'The upstream did not close its response soon after its end.'));
  });
}

/** Reports the outcome. The client gets the last bytes from `finish`, which is called when the outcome is recorded. */
export function finishWhenRecorded(context: ResponseContext, ending: Ending): void {
  const { reply, call } = context;
  const { result, trailers } = ending;
  const { keeper } = call;
  let { head, body } = ending;

  async function keep(keeper: AnswerKeeper): Promise<void> {
    const keeping = keepAnswer(context, keeper, ending);
    if (call.turn) call.turn.keeping = keeping;
    if (await keeping) return;
    if (call.turn) call.turn.isLost = true;
    ({ head, body } = tellNotStored(context, ending));
  }

  const { status, facts, usage, partial, error } = result;
  context.resolve({
    status,
    facts,
    usage,
    partial,
    error,
    keep: keeper && status === 'complete' ? () => keep(keeper) : undefined,
    finish() {
      if (head) reply.head(200, head);
      reply.end(body, trailers);
    },
  });
}
