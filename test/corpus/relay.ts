/** A client of the upstream's own protocol gets the upstream's bytes. */

import type { Json } from '../../src/core/json/json.ts';
import { canonical, contrast } from './answer.ts';
import { ownRequest, plainRequest } from './client.ts';
import type { Finding } from './expectation.ts';
import { judgeFailure } from './failure.ts';
import type { Recording } from './recordings.ts';
import type { Answered, Received } from './replay.ts';
import { messageOf, type Trial } from './trial.ts';

export async function judgeRelay({ recording, recorded, client, replay, add }: Trial): Promise<void> {
  const model = replay.model(recording);
  const request = recording.request ? ownRequest(recording, model) : plainRequest(client, model);
  const stream = recording.response.frames !== undefined;
  if (stream && client !== 'generate') request.body.stream = true;
  if (stream && client === 'chat') request.body.stream_options ??= { include_usage: true };
  const answer = stream ? recorded.stream : recorded.whole;
  const received = await replay.ask(client, { model, stream, body: request.body, answer });
  if (!received.upstream) {
    const wasAccepted = recording.response.status < 300;
    add([{ feature: 'request', outcome: wasAccepted ? 'different' : 'refused', detail: messageOf(received) }]);
    return;
  }
  if (recording.request) add([sameRequest(received, request.body, recording)]);
  if (recorded.failure) add([await judgeFailure({ recording, client }, received)]);
  else add([sameBytes(answer, received, model)]);
}

function sameRequest(received: Received, sent: Json, { protocol, model }: Recording): Finding {
  const expected = protocol === 'generate' ? sent : { ...sent, model };
  const got = received.upstream?.body;
  const dropped = received.headers.get('x-polygate-dropped');
  if (canonical(expected) === canonical(got)) return { feature: 'request', outcome: 'equal' };
  const detail = dropped ? `dropped ${dropped}` : contrast(canonical(expected), canonical(got));
  const path = received.headers.get('x-polygate-path');
  return { feature: 'request', outcome: path === 'passthrough' ? 'different' : 'adapted', detail };
}

/** The gateway's name for the model is unlike anything that was recorded, so it can be put back. */
function sameBytes(answer: Answered, { text, status }: Received, model: string): Finding {
  const feature = 'bytes';
  if (status !== 200) return { feature, outcome: 'different', detail: `status ${status}: ${text.slice(0, 200)}` };
  const expected = answer.stream ?? JSON.stringify(answer.body);
  const named = expected.split(/(?<=\r\n\r\n|\n\n)/);
  const got = text.split(/(?<=\r\n\r\n|\n\n)/);
  const restored = got.map((frame, index) => {
    const own = /"(?:model|modelVersion)": ?("(?:[^"\\]|\\.)*")/.exec(named[index] ?? '')?.[1];
    const renamed = own ? frame.replace(JSON.stringify(model), own) : frame;
    return withoutAdded(renamed, named[index] ?? '');
  });
  const actual = restored.join('');
  if (actual === expected || (answer.stream && actual.trimEnd() === expected.trimEnd()))
    return { feature, outcome: 'equal' };
  return { feature, outcome: 'different', detail: contrast(expected, actual) };
}

/** What the gateway says of the cost in an answer's usage, a member that clients require, and nothing else, is taken out again. */
function withoutAdded(frame: string, own: string): string {
  const cost = /"cost": ?(\{[^{}]*\}|[^,}]+)/.exec(own)?.[1];
  let text = cost
    ? frame.replace(/("cost": ?)(?:\{[^{}]*\}|[^,}]+)/, `$1${cost}`)
    : frame.replace(/,"cost":[\d.e-]+/, '');
  for (const name of ['upstream_inference_prompt_cost', 'upstream_inference_completions_cost']) {
    if (!own.includes(`"${name}"`)) text = text.replace(new RegExp(`,"${name}":[\\d.e-]+`), '');
  }
  if (!/"cost_details": ?\{/.test(own)) {
    text = text.replace(/,"cost_details":\{"upstream_inference_cost":[\d.e-]+\}/, '');
  }
  if (!own.includes('"prompt_tokens_details"')) text = text.replace(/,"prompt_tokens_details":\{[^{}]*\}/, '');
  for (const name of ['cached_tokens', 'cache_write_tokens']) {
    if (!own.includes(`"${name}"`)) text = text.replace(new RegExp(`,"${name}":\\d+(?=[,}])`), '');
  }
  return own.includes('"system_fingerprint"') ? text : text.replace('"system_fingerprint":null,', '');
}
