/** A client of the Responses protocol gets the bytes of its upstream. */

import type { Json } from '../../src/core/json/json.ts';
import { parseFrame } from '../../src/core/sse.ts';
import { canonical, contrast } from './answer.ts';
import { ownRequest } from './client.ts';
import type { Finding } from './expectation.ts';
import type { Recording } from './recordings.ts';
import type { Received, Replay } from './replay.ts';
import { messageOf, type Verdict } from './trial.ts';

/** Members that are refused, because their ids name content that nobody stored here. */
const NOT_OFFERED =
  /^(previous_response_id|conversation|background|input\[\d+\](\.id)?|prompt_cache_options\.comparison_response_id)$/;
const REFUSALS = ['unsupported_parameter', 'previous_response_not_found', 'item_not_found'];
/** OpenAI's own words, which come without a code and a member. */
const UNKNOWN_CONVERSATION = /^Conversation with id '[^']+' not found\.$/;

const ENDED = /"type": ?"response\.(completed|incomplete)"/;

export async function judgeResponses(recording: Recording, replay: Replay): Promise<Verdict[]> {
  const { id, scenario, response } = recording;
  const form = response.frames ? 'stream' : 'whole';
  const findings = await relayed(recording, replay);
  return findings.map((finding) => ({ ...finding, id, scenario, from: 'responses', to: 'responses', form }));
}

async function relayed(recording: Recording, replay: Replay): Promise<Finding[]> {
  const { status, body, frames } = recording.response;
  const model = replay.model(recording);
  const asked = recording.request ? ownRequest(recording, model).body : { model, input: 'Hello' };
  if (frames) asked.stream = true;
  const answer = { status, body, stream: frames?.join('') };
  const received = await replay.ask('responses', { model, stream: frames !== undefined, body: asked, answer });
  if (asked.background === true && received.status === 200) return [accepted(received)];
  if (!received.upstream) return [refusal(received)];
  const findings = recording.request ? [sameRequest(received, { ...asked, model: recording.model })] : [];
  const failed = status >= 300 || body?.error || (frames && !frames.some((frame) => ENDED.test(frame)));
  return [...findings, failed ? toldFailure(recording, received) : sameBytes(recording, received, model)];
}

/** The gateway runs background responses itself, as the decision on them says. */
function accepted({ text }: Received): Finding {
  const isOwn = /"background": ?true/.test(text) && /"status": ?"(queued|in_progress)"/.test(text);
  return {
    feature: 'request',
    outcome: isOwn ? 'adapted' : 'different',
    detail: 'run in the background by the gateway',
  };
}

function refusal(received: Received): Finding {
  const { error } = JSON.parse(received.text);
  const isUnknown = received.status === 404 && UNKNOWN_CONVERSATION.test(error?.message);
  const isNamed = isUnknown || (REFUSALS.includes(error?.code) && NOT_OFFERED.test(error.param ?? ''));
  return { feature: 'request', outcome: isNamed ? 'refused' : 'different', detail: messageOf(received) };
}

function sameRequest(received: Received, sent: Json): Finding {
  const got = received.upstream?.body;
  if (canonical(sent) === canonical(got)) return { feature: 'request', outcome: 'equal' };
  const isPlain = received.headers.get('x-polygate-path') === 'passthrough';
  const detail = contrast(canonical(sent), canonical(got));
  return { feature: 'request', outcome: isPlain ? 'different' : 'adapted', detail };
}

function sameBytes({ response }: Recording, { status, text }: Received, model: string): Finding {
  const feature = 'bytes';
  if (status !== 200) return { feature, outcome: 'different', detail: `status ${status}: ${text.slice(0, 200)}` };
  const expected = response.frames?.join('') ?? JSON.stringify(response.body);
  const own = response.frames ? piecesOf(expected) : [expected];
  const got = response.frames ? piecesOf(text) : [text];
  const actual = got.map((piece, index) => withoutAdded(piece, own[index] ?? '', model)).join('');
  if (actual === expected || (response.frames && actual.trimEnd() === expected.trimEnd()))
    return { feature, outcome: 'equal' };
  return { feature, outcome: 'different', detail: contrast(expected, actual) };
}

function piecesOf(stream: string): string[] {
  return stream.split(/(?<=\r\n\r\n|\n\n)/);
}

/** The text with the recorded model, and without the cost that the gateway adds to a usage. */
function withoutAdded(text: string, own: string, model: string): string {
  const recorded = modelIn(own);
  const renamed =
    recorded === undefined ? text : text.replace(spelled('model', model), (all) => all.replace(model, recorded));
  return own.includes('"cost"')
    ? renamed
    : renamed.replace(/,"cost":[\d.e-]+(,"cost_details":\{[^{}]*\})?/, '').replace(/,"cost_details":\{[^{}]*\}/, '');
}

function spelled(name: string, value: string): RegExp {
  return new RegExp(`"${name}": ?${RegExp.escape(JSON.stringify(value))}`, 'g');
}

function modelIn(piece: string): string | undefined {
  const text = piece.startsWith('{') ? piece : parseFrame(Buffer.from(piece))?.data;
  if (!text?.startsWith('{')) return undefined;
  const body = JSON.parse(text);
  return body.response?.model ?? body.model;
}

function toldFailure({ response }: Recording, { status, text }: Received): Finding {
  const feature = 'error';
  if (status === 200 && /^event: response\.failed$/m.test(text) && !/^event: response\.completed$/m.test(text))
    return { feature, outcome: 'adapted', detail: 'failed in the stream' };
  const said = status >= 400 ? JSON.parse(text).error?.message : undefined;
  if (!said) return { feature, outcome: 'different', detail: `status ${status}: ${text.slice(0, 100)}` };
  const isSame = text === JSON.stringify(response.body) && status === response.status;
  return { feature, outcome: isSame ? 'equal' : 'adapted', detail: `${status}: ${said.slice(0, 160)}` };
}
