/** Answers as the client's own official SDK reads them, in the shapes that the readers take. */

import { type Json, read } from '../../src/core/json/json.ts';
import { failureOf, HEAR } from '../clients/hearing.ts';
import { type Answer, BROKEN, canonical } from './answer.ts';
import type { UpstreamId } from './recordings.ts';
import type { Received } from './replay.ts';
import { messageOf, READERS, type Verdict } from './trial.ts';

/** The body that the SDK hands its user; a stream's as its helper puts it together, or joined where the SDK has no helper. */
export async function heard(client: UpstreamId, form: Verdict['form'], { response }: Received): Promise<Json> {
  const told = await HEAR[client](response, form);
  if ('answer' in told) return plain(told.answer);
  if (client === 'messages' || client === 'responses') return plain(told.final);
  const frames = told.events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  const joined = READERS[client].join(frames.join(''));
  return told.final ? completed(joined, plain(told.final)) : joined;
}

function plain(value: unknown): Json {
  return read(JSON.stringify(value));
}

/** The helper of chat completions puts together what is documented; users read what else there is from the chunks. */
function completed(joined: Json, final: Json): Json {
  const choices = joined.choices.map((choice: Json) => {
    const { message, finish_reason } = final.choices.find(({ index }: Json) => index === choice.index);
    const { content, refusal, tool_calls, function_call, audio } = message;
    const documented = { content, refusal, tool_calls, function_call, audio };
    return { ...choice, finish_reason, message: { ...choice.message, ...documented } };
  });
  return { ...joined, choices, usage: final.usage };
}

/** As far as numbers go in JavaScript, where arguments are no text. */
export function inDoubles(answer: Answer): Answer {
  const choices = answer.choices.map((choice) => {
    const calls = choice.calls.map(({ name, args }) => ({ name, args: rounded(args) }));
    return { ...choice, calls };
  });
  return { ...answer, choices };
}

function rounded(args: string): string {
  return args.startsWith(BROKEN) ? args : canonical(JSON.parse(args));
}

/** What is wrong with how the SDK takes an answer that failed; undefined when it throws its own error with status and words. */
export async function mistaken(
  client: UpstreamId,
  form: Verdict['form'],
  received: Received,
): Promise<string | undefined> {
  try {
    await HEAR[client](received.response, form);
    return 'the SDK takes it for an answer';
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) return `the SDK throws ${error}`;
    const said = messageOf(received);
    const spellings = [said, JSON.stringify(said).slice(1, -1)];
    if (!spellings.some((words) => failure.message.includes(words))) return `the SDK says ${failure.message}`;
    const isSame = received.status < 400 || failure.status === received.status;
    return isSame ? undefined : `the SDK says status ${failure.status}`;
  }
}
