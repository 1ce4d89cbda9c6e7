/** Puts one recording through the gateway from every client protocol, and says what came of each feature. */

import type { Json } from '../../src/core/json/json.ts';
import type { Reader } from './answer.ts';
import type { Finding } from './expectation.ts';
import type { Recording } from './recordings.ts';
import { judgeRelay } from './relay.ts';
import type { Replay } from './replay.ts';
import { judgeResponses } from './responses.ts';
import { judgeTranslation } from './translation.ts';
import { READERS, type Recorded, type Verdict } from './trial.ts';

const CLIENTS = ['chat', 'messages', 'generate', 'responses'] as const;

export async function judge(recording: Recording, replay: Replay): Promise<Verdict[]> {
  const recorded = readRecording(recording);
  const verdicts = recording.protocol === 'responses' ? await judgeResponses(recording, replay) : [];
  for (const client of CLIENTS) {
    if (client === 'responses' && recording.protocol === 'responses') continue;
    const form = recording.response.frames ? 'stream' : 'whole';
    const add = (findings: Finding[], asked: Verdict['form'] = form): void => {
      const { id, scenario, protocol: to } = recording;
      for (const finding of findings) verdicts.push({ ...finding, id, scenario, from: client, to, form: asked });
    };
    const trial = { recording, recorded, client, replay, add };
    try {
      if (client === recording.protocol) await judgeRelay(trial);
      else await judgeTranslation(trial);
    } catch (error) {
      add([{ feature: 'request', outcome: 'different', detail: `not judged: ${error}` }]);
    }
  }
  return verdicts;
}

function readRecording({ protocol, response }: Recording): Recorded {
  const reader = READERS[protocol];
  const { status, body, frames } = response;
  const stream = frames?.join('');
  const own = { status, body, stream };
  if (status >= 300 || body?.error) return { failure: `status ${status}`, whole: own, stream: own };
  try {
    const joined = stream === undefined ? body : reader.join(stream);
    const answer = reader.read(joined);
    const rest = answer.choices[0]?.end === 'paused' ? ended(joined, reader) : {};
    const split = stream ?? reader.split(joined);
    return {
      answer,
      whole: { status, body: joined, rest: rest.whole },
      stream: { status, stream: split, rest: rest.stream },
    };
  } catch (error) {
    return { failure: String(error), whole: own, stream: own };
  }
}

/** How a paused turn goes on: with nothing more to say. */
function ended(body: Json, reader: Reader): Partial<Pick<Recorded, 'whole' | 'stream'>> {
  const whole = { ...body, content: [], stop_reason: 'end_turn', usage: { input_tokens: 0, output_tokens: 0 } };
  return { whole: { status: 200, body: whole }, stream: { status: 200, stream: reader.split(whole) } };
}
