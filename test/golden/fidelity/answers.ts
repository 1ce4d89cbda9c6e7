/** Answers in the fidelity page: the rules of the judge of recorded traffic. */

import type { End } from '../../corpus/answer.ts';
import { ADAPTED_ANSWERS, NEAREST } from '../../corpus/expectation.ts';
import { ENDS as CHAT } from '../../corpus/readers/chat.ts';
import { ENDS as GENERATE } from '../../corpus/readers/generate.ts';
import { ENDS as MESSAGES } from '../../corpus/readers/messages.ts';
import { ENDS as RESPONSES } from '../../corpus/readers/responses.ts';
import type { UpstreamId } from '../../corpus/recordings.ts';
import { table } from './table.ts';

type Adapted = keyof typeof ADAPTED_ANSWERS;

const IDS = ['chat', 'messages', 'generate', 'responses'] as const;

/** What answers say, and whose answers say it. */
const FEATURES: { name: string; upstreams: readonly UpstreamId[]; adapted?: Adapted }[] = [
  { name: 'text', upstreams: IDS },
  { name: 'refusal in words', upstreams: ['chat', 'responses'], adapted: 'refusal' },
  { name: 'reasoning', upstreams: IDS, adapted: 'reasoning' },
  { name: 'signatures and encrypted reasoning', upstreams: IDS },
  { name: 'tool calls and their arguments', upstreams: IDS, adapted: 'calls' },
  { name: 'citations', upstreams: ['chat', 'messages', 'generate'], adapted: 'citations' },
  { name: 'citations of addresses', upstreams: ['responses'] },
  { name: 'spans of citations', upstreams: IDS, adapted: 'spans' },
  { name: 'images', upstreams: ['chat', 'generate', 'responses'], adapted: 'media' },
  { name: 'sounds', upstreams: ['chat', 'generate'], adapted: 'sound' },
  { name: 'several answers', upstreams: ['chat', 'generate'], adapted: 'candidates' },
  { name: 'tokens: input, output, cached, reasoning', upstreams: IDS },
  { name: 'tokens written to a cache', upstreams: ['chat', 'messages', 'responses'], adapted: 'cacheWrite' },
];

/** Adaptations that befall only some of what has the feature. */
const PARTIAL = new Set<Adapted>(['reasoning', 'calls', 'citations']);

const ENDS: [End, string][] = [
  ['stop', 'done'],
  ['stop-sequence', 'stop sequence'],
  ['length', 'output limit'],
  ['context-full', 'context full'],
  ['calls', 'tool calls'],
  ['filtered', 'filtered'],
  ['refused', 'refused'],
  ['blocked', 'prompt blocked'],
  ['paused', 'paused'],
  ['continuation', 'to be continued'],
  ['abnormal', 'malformed'],
];

/** Ends that a protocol says otherwise than by one word of its own. */
const OTHERWISE: Record<UpstreamId, Partial<Record<End, string>>> = {
  chat: {},
  messages: {},
  generate: { calls: 'STOP', filtered: 'SAFETY', blocked: 'promptFeedback', abnormal: 'MALFORMED_FUNCTION_CALL' },
  responses: { calls: 'completed', refused: 'refusal' },
};

const WORDS: Record<UpstreamId, Record<string, End>> = {
  chat: CHAT,
  messages: MESSAGES,
  generate: GENERATE,
  responses: RESPONSES,
};

function wordOf(protocol: UpstreamId, end: End): string | undefined {
  const own = Object.keys(WORDS[protocol]).find((word) => /^[a-zA-Z]/.test(word) && WORDS[protocol][word] === end);
  return OTHERWISE[protocol][end] ?? own;
}

export function answersTo(client: UpstreamId): string {
  const upstreams = IDS.filter((id) => id !== client);
  const head = upstreams.map((id) => `from ${id}`);
  const features = FEATURES.map(({ name, upstreams: from, adapted }) => [
    name,
    ...upstreams.map((id) => (from.includes(id) ? fateOf(client, adapted) : '')),
  ]);
  const known = features.filter(([, ...cells]) => cells.some((cell) => cell !== ''));
  const ends = ENDS.map(([end, name]) => [name, ...upstreams.map((id) => endOf(end, id, client))]);
  const said = ends.filter(([, ...cells]) => cells.some((cell) => cell !== ''));
  return `${table(['answer', ...head], known)}\n\n${table(['end', ...head], said)}`;
}

function fateOf(client: UpstreamId, adapted: Adapted | undefined): string {
  if (!adapted) return 'kept';
  const { clients, how }: { clients: readonly UpstreamId[]; how: string } = ADAPTED_ANSWERS[adapted];
  if (!clients.includes(client)) return 'kept';
  return PARTIAL.has(adapted) ? `kept; adapted: ${how}` : `adapted: ${how}`;
}

function endOf(end: End, upstream: UpstreamId, client: UpstreamId): string {
  const said = wordOf(upstream, end);
  if (!said) return '';
  if (end === 'refused' && upstream === 'responses' && client === 'chat')
    return `kept: \`${said}\` becomes \`stop\` beside the words`;
  if (end === 'paused') return `adapted: \`${said}\` is continued by the gateway`;
  const nearest = NEAREST[client][end];
  const becomes = `\`${said}\` becomes \`${wordOf(client, nearest ?? end)}\``;
  if (!nearest) return `kept: ${becomes}`;
  return `adapted: ${becomes}${end === 'abnormal' ? ' or an error' : ''}`;
}
