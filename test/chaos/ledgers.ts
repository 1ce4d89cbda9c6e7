/** Ledgers: the store after a scenario, compared with the records of upstreams, receivers and clients. */

import { exactly, type Figure, noted } from './figures.ts';
import type { FilmUpstream } from './film-upstream.ts';
import type { Hooks } from './hooks.ts';
import type { ChaosStore } from './store.ts';

export interface VideoWork {
  /** Prompts by the ids of the tasks that were acknowledged. */
  created: Map<string, string>;
  upstream: FilmUpstream;
  hooks: Hooks;
}

export async function videoFigures(store: ChaosStore, { created, upstream, hooks }: VideoWork): Promise<Figure[]> {
  const count = async (sql: string) => Number((await store.rows(sql))[0]?.n);
  const known = new Set((await store.rows('SELECT id FROM video_task')).map(({ id }) => String(id)));
  const open = await store.rows(
    `SELECT t.id, t.phase, a.state FROM video_task t JOIN video_attempt a ON a.task_id = t.id WHERE t.status IN ('queued', 'in_progress')`,
  );
  const waiting = open.filter(({ state }) => state === 'ambiguous' || state === 'sending');
  return [
    exactly('acknowledged tasks missing', [...created.keys()].filter((id) => !known.has(id)).length, 0),
    exactly('prompts submitted twice', [...upstream.submissions.values()].filter((times) => times > 1).length, 0),
    noted('tasks that ended', await count('SELECT count(*) AS n FROM video_task WHERE settled_at IS NOT NULL')),
    noted('waiting to be certain', waiting.length),
    exactly('other open tasks', open.length - waiting.length, 0),
    exactly(
      'ended tasks without exactly one webhook',
      await count(
        'SELECT count(*) AS n FROM video_task t WHERE settled_at IS NOT NULL AND (SELECT count(*) FROM delivery d WHERE d.task_id = t.id) <> 1',
      ),
      0,
    ),
    exactly(
      'ended tasks without exactly one entry of their cost',
      await count(
        'SELECT count(*) AS n FROM video_task t WHERE settled_at IS NOT NULL AND (SELECT count(*) FROM video_ledger l WHERE l.task_id = t.id) <> 1',
      ),
      0,
    ),
    exactly('tasks that failed', await count(`SELECT count(*) AS n FROM video_task WHERE status = 'failed'`), 0),
    exactly('webhooks with other bytes the second time', [...hooks.got.values()].filter(({ same }) => !same).length, 0),
    exactly(
      'webhooks not acknowledged',
      await count(`SELECT count(*) AS n FROM delivery WHERE state <> 'delivered'`),
      0,
    ),
  ];
}

export interface AnswerWork {
  /** Ids of the answers that the upstream began to send, and of those that clients read to their end. */
  served: Set<string>;
  whole: Set<string>;
  /** Tokens of each answer. */
  input: number;
  output: number;
}

/** `interrupted` counts records that were written for a gateway that was gone, `unserved` those of requests that never reached the upstream. */
export async function usageFigures(
  store: ChaosStore,
  { served, whole, input, output }: AnswerWork,
): Promise<{ figures: Figure[]; interrupted: number; unserved: number }> {
  const rows = (sql: string) => store.do('askUsage', { sql });
  const records = await rows(
    `SELECT status, upstream_id, input_tokens, output_tokens FROM usage_request WHERE model LIKE '%/chat'`,
  );
  const [left] = await rows('SELECT (SELECT count(*) FROM inflight) + (SELECT count(*) FROM usage_group) AS n');
  const [hours] = await rows(`SELECT sum(requests) AS n FROM usage_hour WHERE model LIKE '%/chat'`);
  const completed = records.filter(({ status }) => status === 'completed');
  const byUpstream = Map.groupBy(completed, ({ upstream_id }) => String(upstream_id));
  const sum = (column: string) => completed.reduce((total, record) => total + Number(record[column]), 0);
  const figures = [
    exactly(
      'answers that a client read to the end, without a record',
      [...whole].filter((id) => !byUpstream.has(id)).length,
      0,
    ),
    exactly('answers with two records', [...byUpstream.values()].filter(({ length }) => length > 1).length, 0),
    exactly('records of answers that nobody served', [...byUpstream.keys()].filter((id) => !served.has(id)).length, 0),
    exactly('answers that the upstream served, without a record', Math.max(0, served.size - records.length), 0),
    exactly('input tokens of whole answers', sum('input_tokens'), input * completed.length),
    exactly('output tokens of whole answers', sum('output_tokens'), output * completed.length),
    exactly('requests in the sums by hour', Number(hours?.n), records.length),
    exactly('intents left over', Number(left?.n), 0),
  ];
  const interrupted = records.filter(({ status }) => status === 'interrupted').length;
  return { figures, interrupted, unserved: Math.max(0, records.length - served.size) };
}

export function prefixed(prefix: string, figures: readonly Figure[]): Figure[] {
  return figures.map((figure) => ({ ...figure, name: `${prefix}: ${figure.name}` }));
}
