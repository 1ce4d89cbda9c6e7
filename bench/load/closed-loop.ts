/** Closed loop: each of some connections sends its next request when it has the answer to the last one. */

import { openConnection, type Target } from './connection.ts';

export interface ClosedLoopOptions {
  connections: number;
  /** Ends after so many answers. */
  requests?: number;
  /** Ends after so long. */
  seconds?: number;
}

export interface Answers {
  ok: number;
  failed: number;
  seconds: number;
  /** The last status that was not 200, or 200 where an answer was too short. */
  failure?: number;
}

const MOST_FAILURES = 50;

export async function closedLoop(target: Target, options: ClosedLoopOptions): Promise<Answers> {
  const { connections, requests = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY } = options;
  const { leastBytes = 0 } = target;
  const answers: Answers = { ok: 0, failed: 0, seconds: 0 };
  const began = performance.now();
  const end = began + seconds * 1000;
  let sent = 0;

  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((resolve) => {
          const connection = openConnection(target.port);
          const next = () => {
            if (sent >= requests || answers.failed > MOST_FAILURES || performance.now() >= end) {
              connection.close();
              resolve();
              return;
            }
            sent++;
            connection.send(target.bytes, onAnswer);
          };
          const onAnswer = (status: number, bodyBytes: number) => {
            if (status === 200 && bodyBytes >= leastBytes) answers.ok++;
            else {
              answers.failed++;
              answers.failure = status;
            }
            next();
          };
          next();
        }),
    ),
  );
  answers.seconds = (performance.now() - began) / 1000;
  return answers;
}
