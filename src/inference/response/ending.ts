/** End of a response: its outcome, and its last bytes, which wait until the outcome is recorded. */

import type { UpstreamReceiver } from '../../transport/upstream-client.ts';
import type { AttemptResult, ResponseContext } from './context.ts';
import type { Output } from './converter.ts';

/** Reader of the body of one round. */
export type BodyReader = Pick<UpstreamReceiver, 'data' | 'end' | 'fail'>;

interface Ending {
  result: Omit<AttemptResult, 'finish'>;
  /** Headers of a whole response. */
  head?: Record<string, string>;
  /** The last bytes. */
  body: Output;
  trailers?: Record<string, string>;
}

/** Reports the outcome. The client gets the last bytes from `finish`, which is called when the outcome is recorded. */
export function finishWhenRecorded(context: ResponseContext, { result, head, body, trailers }: Ending): void {
  const { reply } = context;
  context.resolve({
    ...result,
    finish() {
      if (head) reply.head(200, head);
      reply.end(body, trailers);
    },
  });
}
