/** A client of another protocol asks the same and is told the same. */

import { type Json, read } from '../../src/core/json.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import { type Answer, canonical, contrast } from './answer.ts';
import { type Asked, compareAsked } from './asked.ts';
import { type ClientRequest, hidesReasoning, plainRequest, translatedRequest } from './client.ts';
import { compare, type Finding, isCutOff } from './expectation.ts';
import type { Recording } from './recordings.ts';
import type { Answered, Received, Replay } from './replay.ts';
import { readChatRequest } from './requests/chat.ts';
import { readGenerateRequest } from './requests/generate.ts';
import { readMessagesRequest } from './requests/messages.ts';
import { judgeState } from './return.ts';
import { failedStream, messageOf, READERS, type Trial, type Verdict } from './trial.ts';
import { problemsOfChat } from './validators/chat.ts';
import { problemsOfGenerate } from './validators/generate.ts';
import { problemsOfMessages } from './validators/messages.ts';

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

function agreement(whole: Answer, stream: Answer): Finding {
  const [one, other] = [canonical(whole), canonical(stream)];
  if (one === other) return { feature: 'agreement', outcome: 'equal' };
  return { feature: 'agreement', outcome: 'different', detail: contrast(one, other) };
}
