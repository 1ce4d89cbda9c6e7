/** End of a response: its outcome, its storage, and its last bytes, which wait until both are durable. */

import type { AnswerKeeper } from '../../routing/answer-keeper.ts';
import type { UpstreamReceiver } from '../../transport/upstream-client.ts';
import type { ResponseContext } from './context.ts';
import { type Ending, keepAnswer, tellNotStored } from './kept-answer.ts';

/** Reader of the body of one round. */
export type BodyReader = Pick<UpstreamReceiver, 'data' | 'end' | 'fail'>;

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
