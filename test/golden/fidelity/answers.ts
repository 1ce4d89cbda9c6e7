/** Answers in the fidelity page: the rules of the judge of recorded traffic. */

import type { End } from '../../corpus/answer.ts';
import { ADAPTED_ANSWERS, NEAREST } from '../../corpus/expectation.ts';
import { ENDS as CHAT } from '../../corpus/readers/chat.ts';
import { ENDS as GENERATE } from '../../corpus/readers/generate.ts';
import { ENDS as MESSAGES } from '../../corpus/readers/messages.ts';
import type { ProtocolId } from '../../gateway/harness.ts';
import { table } from './table.ts';

type Adapted = keyof typeof ADAPTED_ANSWERS;

/** What answers say, and whose answers say it. */
const FEATURES: { name: string; upstreams: ProtocolId[]; adapted?: Adapted }[] = [
  { name: 'text', upstreams: ['chat', 'messages', 'generate'] },
  { name: 'refusal in words', upstreams: ['chat'], adapted: 'refusal' },
  { name: 'reasoning', upstreams: ['chat', 'messages', 'generate'], adapted: 'reasoning' },
  { name: 'signatures and encrypted reasoning', upstreams: ['chat', 'messages', 'generate'] },
  { name: 'tool calls and their arguments', upstreams: ['chat', 'messages', 'generate'], adapted: 'calls' },
  { name: 'citations', upstreams: ['chat', 'messages', 'generate'] },
  { name: 'images and sounds', upstreams: ['chat', 'generate'], adapted: 'media' },
  { name: 'several answers', upstreams: ['chat', 'generate'], adapted: 'candidates' },
  { name: 'tokens: input, output, cached, reasoning', upstreams: ['chat', 'messages', 'generate'] },
  { name: 'tokens written to a cache', upstreams: ['chat', 'messages'], adapted: 'cacheWrite' },
];

/** Adaptations that befall only some of what has the feature. */
const PARTIAL = new Set<Adapted>(['reasoning', 'calls']);

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
const OTHERWISE: Record<ProtocolId, Partial<Record<End, string>>> = {
  chat: {},
  messages: {},
  generate: { calls: 'STOP', filtered: 'SAFETY', blocked: 'promptFeedback', abnormal: 'MALFORMED_FUNCTION_CALL' },
};

const WORDS: Record<ProtocolId, Record<string, End>> = { chat: CHAT, messages: MESSAGES, generate: GENERATE };

function wordOf(protocol: ProtocolId, end: End): string | undefined {
  const own = Object.keys(WORDS[protocol]).find((word) => /^[a-zA-Z]/.test(word) && WORDS[protocol][word] === end);
  return OTHERWISE[protocol][end] ?? own;
}

export function answersTo(client: ProtocolId): string {
  const upstreams = (['chat', 'messages', 'generate'] as const).filter((id) => id !== client);
  const head = upstreams.map((id) => `from ${id}`);
  const features = FEATURES.map(({ name, upstreams: from, adapted }) => [
    name,
    ...upstreams.map((id) => (from.includes(id) ? fateOf(client, adapted) : '')),
  ]);
  const ends = ENDS.map(([end, name]) => [name, ...upstreams.map((id) => endOf(end, id, client))]);
  const said = ends.filter(([, ...cells]) => cells.some((cell) => cell !== ''));
  return `${table(['answer', ...head], features)}\n\n${table(['end', ...head], said)}`;
}

function fateOf(client: ProtocolId, adapted: Adapted | undefined): string {
  if (!adapted) return 'kept';
  const { clients, how }: { clients: readonly ProtocolId[]; how: string } = ADAPTED_ANSWERS[adapted];
  if (!clients.includes(client)) return 'kept';
  return PARTIAL.has(adapted) ? `kept; adapted: ${how}` : `adapted: ${how}`;
}

function endOf(end: End, upstream: ProtocolId, client: ProtocolId): string {
  const said = wordOf(upstream, end);
  if (!said) return '';
  if (end === 'paused') return `adapted: \`${said}\` is continued by the gateway`;
  const nearest = NEAREST[client][end];
  const becomes = `\`${said}\` becomes \`${wordOf(client, nearest ?? end)}\``;
  if (!nearest) return `kept: ${becomes}`;
  return `adapted: ${becomes}${end === 'abnormal' ? ' or an error' : ''}`;
}
