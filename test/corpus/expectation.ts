/** Expected answers of each protocol: finish reasons and token counts have fewer words in some. */

import { type Answer, BROKEN, type Choice, type Counts, contrast, type End } from './answer.ts';
import type { UpstreamId } from './recordings.ts';

export type Outcome = 'equal' | 'adapted' | 'refused' | 'different';

export interface Finding {
  feature: Feature;
  outcome: Outcome;
  detail?: string;
}

export const FEATURES = [
  'bytes',
  'request',
  'prompt',
  'history',
  'attachments',
  'tools',
  'schemas',
  'settings',
  'text',
  'reasoning',
  'calls',
  'citations',
  'media',
  'finish',
  'usage',
  'agreement',
  'state',
  'memory',
  'error',
] as const;

export type Feature = (typeof FEATURES)[number];

/** The nearest word of each client protocol for an end that it cannot say; `abnormal` may be an error instead. */
export const NEAREST: Record<UpstreamId, Partial<Record<End, End>>> = {
  chat: {
    'stop-sequence': 'stop',
    'context-full': 'length',
    refused: 'filtered',
    blocked: 'filtered',
    paused: 'length',
    continuation: 'length',
    abnormal: 'stop',
  },
  messages: { filtered: 'refused', blocked: 'refused', continuation: 'length', abnormal: 'stop' },
  generate: {
    'stop-sequence': 'stop',
    'context-full': 'length',
    refused: 'filtered',
    paused: 'length',
    continuation: 'length',
  },
  responses: {
    'stop-sequence': 'stop',
    'context-full': 'length',
    blocked: 'filtered',
    paused: 'length',
    continuation: 'length',
    abnormal: 'stop',
  },
};

/** The other adaptations of answers, by what they befall, and the client protocols that need them. */
export const ADAPTED_ANSWERS = {
  refusal: { clients: ['messages', 'generate'], how: 'text' },
  reasoning: { clients: ['chat', 'messages', 'generate'], how: 'left out for a client that asks not to see it' },
  calls: {
    clients: ['chat', 'messages', 'generate', 'responses'],
    how: 'one that the output limit broke off comes as far as can be shown',
  },
  citations: { clients: ['responses'], how: 'of sources without an address, named in the header' },
  spans: { clients: ['messages'], how: 'the whole block is cited' },
  sound: { clients: ['messages', 'responses'], how: 'named in the header; messages clients get the words of speech' },
  media: { clients: ['messages'], how: 'named in the header' },
  candidates: { clients: ['messages', 'responses'], how: 'only the first' },
  cacheWrite: { clients: ['generate'], how: 'counted as other input' },
} as const satisfies Record<string, { clients: UpstreamId[]; how: string }>;

export interface Listener {
  client: UpstreamId;
  /** Its request asks not to be shown the reasoning. */
  hides: boolean;
}

function needs(what: keyof typeof ADAPTED_ANSWERS, client: UpstreamId): boolean {
  const clients: readonly UpstreamId[] = ADAPTED_ANSWERS[what].clients;
  return clients.includes(client);
}

/** Compares what a client got with what was recorded, feature by feature; features that the recording lacks are left out. */
export function compare(recorded: Answer, received: Answer, listener: Listener): Finding[] {
  const { client } = listener;
  const choices = needs('candidates', client) ? recorded.choices.slice(0, 1) : recorded.choices;
  const findings: Finding[] = [];
  if (choices.length !== received.choices.length)
    findings.push({ feature: 'text', outcome: 'different', detail: `${received.choices.length} choices` });
  for (const [index, choice] of choices.entries()) {
    const got = received.choices[index];
    if (got) findings.push(...compareChoice(choice, got, listener));
  }
  if (recorded.counts) findings.push(compareCounts(recorded.counts, received.counts, client));
  return findings;
}

function compareChoice(recorded: Choice, received: Choice, { client, hides }: Listener): Finding[] {
  const findings = [compareText(recorded, received, client), compareEnd(recorded, received, client)];
  const { reasoning, calls, citations, media } = recorded;
  if (reasoning !== '' && hides && received.reasoning === '')
    findings.push({ feature: 'reasoning', outcome: 'adapted', detail: ADAPTED_ANSWERS.reasoning.how });
  else if (reasoning !== '' || received.reasoning !== '')
    findings.push(same('reasoning', reasoning, received.reasoning));
  const spell = (list: Choice['calls']) => list.map(({ name, args }) => `${name} ${args}`).join('; ');
  if (isCutOff(recorded)) findings.push({ feature: 'calls', outcome: 'adapted', detail: ADAPTED_ANSWERS.calls.how });
  else if (client === 'generate' && isCutBare(recorded) && spell(received.calls) === spell(calls.slice(0, -1)))
    findings.push({ feature: 'calls', outcome: 'adapted', detail: ADAPTED_ANSWERS.calls.how });
  else if (calls.length > 0 || received.calls.length > 0)
    findings.push(same('calls', spell(calls), spell(received.calls)));
  const addresses = needs('citations', client) ? citations.filter((source) => !source.startsWith('“')) : citations;
  if (addresses.length < citations.length)
    findings.push({ feature: 'citations', outcome: 'adapted', detail: ADAPTED_ANSWERS.citations.how });
  if (addresses.length > 0 || received.citations.length > 0)
    findings.push(same('citations', addresses.join(' '), received.citations.join(' ')));
  if (media.length > 0) findings.push(compareMedia(media, received.media, client));
  return findings;
}

function compareMedia(media: string[], received: string[], client: UpstreamId): Finding {
  const feature = 'media';
  if (needs('media', client)) return { feature, outcome: 'adapted', detail: ADAPTED_ANSWERS.media.how };
  const isSound = media.every((one) => one.startsWith('audio')) && received.length === 0;
  if (isSound && needs('sound', client)) return { feature, outcome: 'adapted', detail: ADAPTED_ANSWERS.sound.how };
  return same(feature, media.join(' '), received.join(' '));
}

/** Whether the output limit broke a call off, of which each protocol shows what it can. */
export function isCutOff({ calls }: Choice): boolean {
  return calls.some(({ args }) => args.startsWith(BROKEN));
}

/** Whether the output limit may have broken the last call off before its arguments. */
function isCutBare({ calls, end }: Choice): boolean {
  return end === 'length' && calls.at(-1)?.args === '{}';
}

/** A refusal in words is text where the client's protocol has no other place for it. */
function compareText(recorded: Choice, received: Choice, client: UpstreamId): Finding {
  const isText = needs('refusal', client);
  const said = isText ? recorded.text + recorded.refusal : recorded.text;
  // Texts with a call between them are messages of their own, read with a blank line between them.
  if (client === 'responses') return same('text', joined(said), joined(received.text));
  if (!isText && recorded.refusal !== '' && recorded.refusal !== received.refusal)
    return { feature: 'text', outcome: 'different', detail: contrast(recorded.refusal, received.refusal) };
  if (recorded.media.length > 0 && needs('media', client) && received.text !== said && received.text.includes(said))
    return { feature: 'text', outcome: 'adapted', detail: ADAPTED_ANSWERS.media.how };
  return same('text', said, received.text);
}

/** Without the blank lines that separate messages. */
export function joined(text: string): string {
  return text.replaceAll('\n\n', '');
}

function compareEnd(recorded: Choice, received: Choice, client: UpstreamId): Finding {
  const feature = 'finish';
  if (recorded.end === received.end) {
    const isSame = client !== 'messages' || recorded.stopSequence === received.stopSequence;
    return isSame
      ? { feature, outcome: 'equal' }
      : { feature, outcome: 'different', detail: `stop sequence ${received.stopSequence}` };
  }
  const isNamed = recorded.end === 'stop-sequence' && client === 'messages' && recorded.stopSequence !== undefined;
  const nearest = isNamed ? undefined : (NEAREST[client][recorded.end] ?? undefined);
  const isCalling = recorded.end === 'length' && recorded.calls.length > 0 && received.end === 'calls';
  const isContinued = recorded.end === 'paused' && received.end === 'stop';
  const adapted = received.end === nearest || isCalling || isContinued;
  return { feature, outcome: adapted ? 'adapted' : 'different', detail: `${recorded.end} became ${received.end}` };
}

function compareCounts(recorded: Counts, received: Counts | undefined, client: UpstreamId): Finding {
  const feature = 'usage';
  if (!received) return { feature, outcome: 'different', detail: 'no counts' };
  const names = ['input', 'output', 'cached', 'cacheWrite', 'reasoning'] as const;
  const off = names.filter((name) => recorded[name] !== received[name]);
  if (off.length === 0) return { feature, outcome: 'equal' };
  const detail = off.map((name) => `${name} ${recorded[name]} became ${received[name]}`).join(', ');
  // What an upstream said and did not count is estimated.
  if (recorded.output === 0 && off.join() === 'output') return { feature, outcome: 'adapted', detail };
  const adapted = needs('cacheWrite', client) && off.every((name) => name === 'cacheWrite' && received[name] === 0);
  return { feature, outcome: adapted ? 'adapted' : 'different', detail };
}

function same(feature: Feature, recorded: string, received: string): Finding {
  if (recorded === received) return { feature, outcome: 'equal' };
  return { feature, outcome: 'different', detail: contrast(recorded, received) };
}
