/** A client of another protocol asks the same and is told the same. */

import { type Json, read } from '../../src/core/json/json.ts';
import { type Answer, canonical, contrast } from './answer.ts';
import { type Asked, compareAsked } from './asked.ts';
import { type ClientRequest, hidesReasoning, plainRequest, translatedRequest } from './client.ts';
import { compare, type Finding, isCutOff, joined } from './expectation.ts';
import { judgeFailure } from './failure.ts';
import type { RecordedId, UpstreamId } from './recordings.ts';
import type { Answered, Received, Replay } from './replay.ts';
import { readChatRequest } from './requests/chat.ts';
import { readGenerateRequest } from './requests/generate.ts';
import { readMessagesRequest } from './requests/messages.ts';
import { readResponsesRequest } from './requests/responses.ts';
import { judgeState } from './return.ts';
import { heard, inDoubles } from './sdk.ts';
import { turnIn } from './state.ts';
import { messageOf, READERS, type Trial, type Verdict } from './trial.ts';
import { problemsOfChat } from './validators/chat.ts';
import { problemsOfConverse } from './validators/converse.ts';
import { problemsOfGenerate } from './validators/generate.ts';
import { problemsOfMessages } from './validators/messages.ts';
import { problemsOfResponses } from './validators/responses.ts';

/** Requests of Converse are not read: no client writes them. */
const REQUEST_READERS: Record<UpstreamId, (body: Json) => Asked> = {
  chat: readChatRequest,
  messages: readMessagesRequest,
  generate: readGenerateRequest,
  responses: readResponsesRequest,
};

const VALIDATORS: Record<RecordedId, (body: Json) => string[]> = {
  chat: problemsOfChat,
  messages: problemsOfMessages,
  generate: problemsOfGenerate,
  responses: problemsOfResponses,
  converse: problemsOfConverse,
};

export async function judgeTranslation({ recording, recorded, client, replay, add }: Trial): Promise<void> {
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
    const { protocol } = recording;
    if (protocol === 'converse' && form === 'whole') add([acceptedRequest(received, protocol)], form);
    else if (protocol !== 'converse' && recording.request && !request.impossible && form === 'whole') {
      add([acceptedRequest(received, protocol)], form);
      const reader = REQUEST_READERS[protocol];
      const dropped = [...request.dropped, ...(received.headers.get('x-polygate-dropped')?.split(', ') ?? [])];
      add(compareAsked(reader(recording.request), reader(received.upstream.body), dropped), form);
    }
    if (!recorded.answer) {
      add([await judgeFailure({ recording, client }, received)], form);
      continue;
    }
    const told = await judgeAnswer(recorded.answer, received, { client, request, form, add });
    if (!told) continue;
    answers[form] = told.answer;
    add(await judgeState({ recording, recorded, client, replay }, turnIn(client, told.body)), form);
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

function askTranslated(client: UpstreamId, question: Question): Promise<Received> {
  const { request, model, form, answer, replay } = question;
  const stream = form === 'stream';
  const body = { ...request.body };
  if (client !== 'generate') Object.assign(body, { model, stream });
  if (client === 'chat' && stream) body.stream_options = { include_usage: true };
  return replay.ask(client, { model, stream, body, answer });
}

function acceptedRequest(received: Received, protocol: RecordedId): Finding {
  const [problem] = VALIDATORS[protocol](received.upstream?.body);
  if (problem) return { feature: 'request', outcome: 'different', detail: problem };
  const dropped = received.headers.get('x-polygate-dropped');
  return dropped
    ? { feature: 'request', outcome: 'adapted', detail: `dropped ${dropped}` }
    : { feature: 'request', outcome: 'equal' };
}

/** What the client's SDK reads counts; what its wire says beside that has to be true as well. */
async function judgeAnswer(
  recorded: Answer,
  received: Received,
  { client, request, form, add }: Pick<Trial, 'client' | 'add'> & Pick<Question, 'request' | 'form'>,
): Promise<{ answer: Answer; body: Json } | undefined> {
  const isAbnormal = recorded.choices.some(({ end }) => end === 'abnormal');
  const listener = { client, hides: hidesReasoning(client, request.body) };
  try {
    if (received.status !== 200) throw new Error(`status ${received.status}: ${messageOf(received)}`);
    const reader = READERS[client];
    const wire = reader.read(form === 'whole' ? read(received.text) : reader.join(received.text));
    const body = await heard(client, form, received);
    const answer = reader.read(body);
    const findings = compare(isText(client) ? recorded : inDoubles(recorded), answer, listener);
    const known = new Set(findings.filter(isDifferent).map(({ feature }) => feature));
    const more = compare(recorded, wire, listener).filter(isDifferent);
    add([...findings, ...more.filter(({ feature }) => !known.has(feature))], form);
    return { answer, body };
  } catch (error) {
    const detail = String(error).slice(0, 300);
    add([{ feature: 'finish', outcome: isAbnormal ? 'adapted' : 'different', detail }], form);
    return undefined;
  }
}

/** Whether arguments of calls are text. */
function isText(client: UpstreamId): boolean {
  return client === 'chat' || client === 'responses';
}

function isDifferent({ outcome }: Finding): boolean {
  return outcome === 'different';
}

/** Where calls stand between texts, a whole answer has them at the end, so that its texts are fewer messages. */
function withoutBreaks({ choices, ...rest }: Answer): Answer {
  return { ...rest, choices: choices.map((choice) => ({ ...choice, text: joined(choice.text) })) };
}

function agreement(whole: Answer, stream: Answer): Finding {
  const [one, other] = [whole, stream].map((answer) => canonical(withoutBreaks(answer))) as [string, string];
  if (one === other) return { feature: 'agreement', outcome: 'equal' };
  return { feature: 'agreement', outcome: 'different', detail: contrast(one, other) };
}
