/** Puts one recording through the gateway from every client protocol, and says what came of each feature. */

import type { Json } from '../../src/core/json.ts';
import { read } from '../../src/core/json.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import { type Answer, canonical, contrast, type Reader, unique } from './answer.ts';
import { type Asked, compareAsked } from './asked.ts';
import { type ClientRequest, hidesReasoning, ownRequest, plainRequest, translatedRequest } from './client.ts';
import { compare, type Finding, isCutOff } from './expectation.ts';
import { chat } from './readers/chat.ts';
import { generate } from './readers/generate.ts';
import { messages } from './readers/messages.ts';
import type { Recording } from './recordings.ts';
import type { Answered, Received, Replay } from './replay.ts';
import { readChatRequest } from './requests/chat.ts';
import { readGenerateRequest } from './requests/generate.ts';
import { readMessagesRequest } from './requests/messages.ts';
import { documented, requestAfter, stateIn, turnIn, turnSent } from './state.ts';
import { problemsOfChat } from './validators/chat.ts';
import { problemsOfGenerate } from './validators/generate.ts';
import { problemsOfMessages } from './validators/messages.ts';

export interface Verdict extends Finding {
  id: string;
  scenario: string;
  from: ProtocolId;
  to: ProtocolId;
  /** How the client asked. */
  form: 'whole' | 'stream';
}

const READERS: Record<ProtocolId, Reader> = { chat, messages, generate };

const REQUEST_READERS: Record<ProtocolId, (body: Json) => Asked> = {
  chat: readChatRequest,
  messages: readMessagesRequest,
  generate: readGenerateRequest,
};

const VALIDATORS: Record<ProtocolId, (body: Json) => string[]> = {
  chat: problemsOfChat,
  messages: problemsOfMessages,
  generate: problemsOfGenerate,
};

/** The recorded answer in both forms, and what it says; a failure when it is an error or breaks off. */
interface Recorded {
  answer?: Answer;
  failure?: string;
  whole: Answered;
  stream: Answered;
}

export async function judge(recording: Recording, replay: Replay): Promise<Verdict[]> {
  const recorded = readRecording(recording);
  const verdicts: Verdict[] = [];
  for (const client of ['chat', 'messages', 'generate'] as const) {
    const form = recording.response.frames ? 'stream' : 'whole';
    const add = (findings: Finding[], asked: Verdict['form'] = form): void => {
      const { id, scenario, protocol: to } = recording;
      for (const finding of findings) verdicts.push({ ...finding, id, scenario, from: client, to, form: asked });
    };
    const trial = { recording, recorded, client, replay, add };
    if (client === recording.protocol) await judgeRelay(trial);
    else await judgeTranslation(trial);
  }
  return verdicts;
}

interface Trial {
  recording: Recording;
  recorded: Recorded;
  client: ProtocolId;
  replay: Replay;
  add(findings: Finding[], form?: Verdict['form']): void;
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

async function judgeRelay({ recording, recorded, client, replay, add }: Trial): Promise<void> {
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
  if (recorded.failure) add([relayedFailure(recording, received)]);
  else add([sameBytes(answer, received, model)]);
}

function sameRequest(received: Received, sent: Json, { protocol, model }: Recording): Finding {
  const expected = protocol === 'generate' ? sent : { ...sent, model };
  const got = received.upstream?.body;
  const dropped = received.headers.get('x-polygate-dropped');
  if (canonical(expected) === canonical(got)) return { feature: 'request', outcome: 'equal' };
  const detail = dropped ? `dropped ${dropped}` : contrast(canonical(expected), canonical(got));
  const path = received.headers.get('x-polygate-path');
  return { feature: 'request', outcome: path === 'bytes' ? 'different' : 'adapted', detail };
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
    return own ? frame.replace(JSON.stringify(model), own) : frame;
  });
  const actual = restored.join('');
  if (actual === expected || (answer.stream && actual.trimEnd() === expected.trimEnd()))
    return { feature, outcome: 'equal' };
  return { feature, outcome: 'different', detail: contrast(expected, actual) };
}

function relayedFailure({ response, protocol }: Recording, received: Received): Finding {
  const feature = 'error';
  if (response.frames) return failedStream(received, protocol);
  if (received.status < 400) return { feature, outcome: 'different', detail: `status ${received.status}` };
  const same = received.text === JSON.stringify(response.body) && received.status === response.status;
  return { feature, outcome: same ? 'equal' : 'adapted', detail: `${response.status} became ${received.status}` };
}

function failedStream(received: Received, client: ProtocolId): Finding {
  if (received.status >= 400) return { feature: 'error', outcome: 'adapted', detail: `status ${received.status}` };
  try {
    READERS[client].join(received.text);
    return { feature: 'error', outcome: 'different', detail: 'a broken stream looks complete' };
  } catch (error) {
    const isError = String(error).includes('error: ');
    return { feature: 'error', outcome: isError ? 'adapted' : 'different', detail: String(error).slice(0, 160) };
  }
}

async function judgeTranslation({ recording, recorded, client, replay, add }: Trial): Promise<void> {
  const model = replay.model(recording);
  const request = recording.request ? translatedRequest(recording, client, model) : plainRequest(client, model);
  if (request.impossible) add([{ feature: 'request', outcome: 'refused', detail: request.impossible }], 'whole');
  const answers: Partial<Record<Verdict['form'], Answer>> = {};
  for (const form of ['whole', 'stream'] as const) {
    const isUnwritable = recorded.failure !== undefined || recorded.answer?.choices.some(isCutOff);
    if (isUnwritable && recording.response.frames && form === 'whole') continue;
    const received = await askTranslated(client, { request, model, form, answer: recorded[form], replay });
    if (!received.upstream) {
      if (form === 'whole') add([{ feature: 'request', outcome: 'refused', detail: messageOf(received) }], form);
      if (recording.request && !request.impossible) Object.assign(request, plainRequest(client, model));
      continue;
    }
    if (recording.request && !request.impossible && form === 'whole') {
      add([acceptedRequest(received, recording.protocol)], form);
      const reader = REQUEST_READERS[recording.protocol];
      const dropped = [...request.dropped, ...(received.headers.get('x-polygate-dropped')?.split(', ') ?? [])];
      add(compareAsked(reader(recording.request), reader(received.upstream.body), dropped), form);
    }
    if (!recorded.answer) {
      add([translatedFailure(recording, received, client)], form);
      continue;
    }
    answers[form] = judgeAnswer(recorded.answer, received, { client, request, form, add });
    if (answers[form]) add(await judgeState({ recording, recorded, client, replay }, form, received), form);
  }
  if (answers.whole && answers.stream && !recorded.answer?.choices.some(isCutOff))
    add([agreement(answers.whole, answers.stream)]);
}

interface Question {
  request: ClientRequest;
  model: string;
  form: Verdict['form'];
  answer: Answered;
  replay: Replay;
}

function askTranslated(client: ProtocolId, question: Question): Promise<Received> {
  const { request, model, form, answer, replay } = question;
  const stream = form === 'stream';
  const body = { ...request.body };
  if (client !== 'generate') Object.assign(body, { model, stream });
  if (client === 'chat' && stream) body.stream_options = { include_usage: true };
  return replay.ask(client, { model, stream, body, answer });
}

function acceptedRequest(received: Received, protocol: ProtocolId): Finding {
  const [problem] = VALIDATORS[protocol](received.upstream?.body);
  if (problem) return { feature: 'request', outcome: 'different', detail: problem };
  const dropped = received.headers.get('x-polygate-dropped');
  return dropped
    ? { feature: 'request', outcome: 'adapted', detail: `dropped ${dropped}` }
    : { feature: 'request', outcome: 'equal' };
}

function judgeAnswer(
  recorded: Answer,
  received: Received,
  { client, request, form, add }: Pick<Trial, 'client' | 'add'> & Pick<Question, 'request' | 'form'>,
): Answer | undefined {
  const isAbnormal = recorded.choices.some(({ end }) => end === 'abnormal');
  try {
    if (received.status !== 200) throw new Error(`status ${received.status}: ${messageOf(received)}`);
    const reader = READERS[client];
    const answer = reader.read(form === 'whole' ? read(received.text) : reader.join(received.text));
    add(compare(recorded, answer, { client, hides: hidesReasoning(client, request.body) }), form);
    return answer;
  } catch (error) {
    const detail = String(error).slice(0, 300);
    add([{ feature: 'finish', outcome: isAbnormal ? 'adapted' : 'different', detail }], form);
    return undefined;
  }
}

function translatedFailure({ response }: Recording, received: Received, client: ProtocolId): Finding {
  if (response.frames) return failedStream(received, client);
  const said = messageOf(received);
  const words = response.body?.error?.message;
  if (received.status < 400 || said === '')
    return {
      feature: 'error',
      outcome: 'different',
      detail: `status ${received.status}: ${received.text.slice(0, 100)}`,
    };
  return { feature: 'error', outcome: words && said.includes(words) ? 'equal' : 'adapted', detail: said.slice(0, 160) };
}

/** Whether the provider gets its state back: from a client that keeps everything, and from one that keeps only its calls. */
async function judgeState(trial: Omit<Trial, 'add'>, form: Verdict['form'], { text }: Received): Promise<Finding[]> {
  const { recording, recorded, client } = trial;
  const recordedTurn = turnIn(recording.protocol, recorded.whole.body);
  const expected = stateIn(recording.protocol, recordedTurn);
  if (expected.length === 0) return [];
  const turn = turnIn(client, form === 'whole' ? read(text) : READERS[client].join(text));
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

function agreement(whole: Answer, stream: Answer): Finding {
  const [one, other] = [canonical(whole), canonical(stream)];
  if (one === other) return { feature: 'agreement', outcome: 'equal' };
  return { feature: 'agreement', outcome: 'different', detail: contrast(one, other) };
}

function messageOf({ text }: Received): string {
  try {
    return String(JSON.parse(text).error?.message ?? '');
  } catch {
    return '';
  }
}
