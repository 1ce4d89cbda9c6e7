/** The provider's state comes back to it with the turn after its answer. */

import type { Json } from '../../src/core/json/json.ts';
import { contrast, unique } from './answer.ts';
import type { Finding } from './expectation.ts';
import { documented, requestAfter, stateIn, turnIn, turnSent } from './state.ts';
import { messageOf, type Trial } from './trial.ts';

/** Whether the provider gets its state back: from a client that keeps everything, and from one that keeps only its calls. */
export async function judgeState(trial: Omit<Trial, 'add'>, turn: Json): Promise<Finding[]> {
  const { recording, recorded, client } = trial;
  const recordedTurn = turnIn(recording.protocol, recorded.whole.body);
  const expected = stateIn(recording.protocol, recordedTurn);
  if (expected.length === 0) return [];
  const findings = [await judgeReturn(trial, 'state', { expected, turn })];
  if (client === 'chat' && turn.tool_calls)
    findings.push(await judgeReturn(trial, 'memory', { expected, turn: documented(turn) }));
  return findings;
}

async function judgeReturn(
  { recording, recorded, client, replay }: Omit<Trial, 'add'>,
  feature: 'state' | 'memory',
  { expected, turn }: { expected: string[]; turn: Json },
): Promise<Finding> {
  const model = replay.model(recording);
  const next = requestAfter(client, turn);
  if (!next) return { feature, outcome: 'adapted', detail: 'an answer that nothing can follow' };
  const body = client === 'generate' ? next : { ...next, model };
  const received = await replay.ask(client, { model, stream: false, body, answer: recorded.whole });
  if (!received.upstream) return { feature, outcome: 'different', detail: messageOf(received) };
  const got = stateIn(recording.protocol, turnSent(recording.protocol, received.upstream.body));
  const [one, other] = [unique(expected).join('; '), unique(got).join('; ')];
  return one === other
    ? { feature, outcome: 'equal' }
    : { feature, outcome: 'different', detail: contrast(one, other) };
}
