/** Compaction where no provider does it: a summary by the model, which travels in an envelope and returns as a text. */

import { randomBytes } from 'node:crypto';
import { isObject, type Json, textOf } from '../../core/json/json.ts';
import { unwrap, wrap } from '../../core/opaque.ts';
import { asListed } from './stored.ts';

/** Origin in the envelope of a summary; no provider has it. */
const ORIGIN = 'polygate compaction';
/** Bytes of the last messages of the user that are kept as they are: about 20,000 tokens. */
const MAX_KEPT_BYTES = 80_000;

const INSTRUCTION = `Summarize the conversation so far for a model that goes on with it and sees nothing else of it but the last messages of the user.
Write down, as briefly as the facts allow: the task and its constraints; decisions and their reasons; results of tools that still matter, with names, paths, numbers and identifiers as they are; what is done; what is open, and the next step.
Reply with the summary only.`;
const PREFIX = 'Summary of the conversation before this message:';

/** The request for a summary. */
export function summaryRequest(body: Json, items: readonly Json[]): Json {
  const { model, instructions, prompt_cache_key, service_tier, provider } = body;
  const ask = { type: 'message', role: 'user', content: [{ type: 'input_text', text: INSTRUCTION }] };
  return {
    model,
    ...(instructions && { instructions }),
    ...(prompt_cache_key && { prompt_cache_key }),
    ...(service_tier && { service_tier }),
    ...(provider && { provider }),
    input: [...items, ask],
    store: false,
  };
}

/** The compacted conversation, from the response with the summary; undefined if it has no text. */
export function compactionOf(response: Json, items: readonly Json[]): Json {
  const summary = textIn(response);
  if (summary === '' || response.status !== 'completed') return undefined;
  const { id, created_at, usage } = response;
  const state = wrap({ kind: 'encrypted', value: summary, origin: ORIGIN });
  const name = textOf(id)?.replace(/^resp_/, '');
  const item = { id: name ? `cmp_${name}` : newItemId('cmp'), type: 'compaction', encrypted_content: state };
  const kept = lastUserMessages(items).map((message) => asListed(message, newItemId));
  return { id, object: 'response.compaction', created_at, output: [...kept, item], usage };
}

function newItemId(prefix: string): string {
  return `${prefix}_${randomBytes(24).toString('hex')}`;
}

function textIn({ output }: Json): string {
  const messages: Json[] = Array.isArray(output) ? output.filter((item) => item?.type === 'message') : [];
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .map((part) => textOf(part?.text) ?? '')
    .join('')
    .trim();
}

/** The last messages of the user, as many as fit. */
function lastUserMessages(items: readonly Json[]): Json[] {
  const kept: Json[] = [];
  let bytes = 0;
  for (const item of items.toReversed()) {
    if (!isObject(item) || item.role !== 'user') continue;
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (bytes > MAX_KEPT_BYTES) break;
    kept.push(item);
  }
  return kept.reverse();
}

/** The input with summaries of the gateway as messages; undefined if there are none. */
export function withSummaries(input: Json): Json[] | undefined {
  if (!Array.isArray(input)) return undefined;
  const summaries = input.map(summaryIn);
  if (!summaries.some((summary) => summary !== undefined)) return undefined;
  return input.map((item, index) => (summaries[index] === undefined ? item : messageOf(summaries[index])));
}

function summaryIn(item: Json): string | undefined {
  if (!isObject(item) || item.type !== 'compaction') return undefined;
  const state = unwrap(item.encrypted_content);
  return state?.origin === ORIGIN ? state.value : undefined;
}

function messageOf(summary: string): Json {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: `${PREFIX}\n\n${summary}` }] };
}
