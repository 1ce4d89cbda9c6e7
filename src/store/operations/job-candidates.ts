/** Candidates of a claim: all due jobs, or in a backlog the first job of each lane and owner; and when the next one is due. */

import type { Row, Transaction } from '../operation.ts';

/** Jobs of one lane and owner form a queue. */
export interface Queue {
  lane: string;
  owner: string;
}

export interface JobCandidate extends Queue {
  id: string;
  /** Unix milliseconds. */
  dueAt: number;
}

export interface JobSearch {
  kind: string;
  late: 0 | 1;
  now: number;
  until: number;
}

/** Number of due jobs from which only the heads of queues are read. */
const MAX_SCANNED_JOBS = 500;
/** Queues visited by one walk. */
const MAX_WALK_STEPS = 500;
/** Full lanes whose other queues a walk skips. */
const MAX_SKIPPED_LANES = 32;

export interface JobTimes {
  /** Due time of the next job that no gateway holds; absent if there is none. */
  dueAt?: number;
  /** Latest due time of a job, or end of a lease. */
  latest: number;
}

const ofTier = (late: 0 | 1) => `FROM job WHERE kind = job_turn.kind AND late = ${late}`;
const firstFreeSql = (late: 0 | 1) => `(SELECT due_at ${ofTier(late)} AND lease_until <= :now ORDER BY due_at LIMIT 1)`;
const lastDueSql = (late: 0 | 1) => `(SELECT max(due_at) ${ofTier(late)})`;
/** Each kind whose jobs were ever claimed has a turn. */
const JOB_TIMES = `SELECT kind, ${firstFreeSql(0)} AS early, ${firstFreeSql(1)} AS late,
  ${lastDueSql(0)} AS last_early, ${lastDueSql(1)} AS last_late,
  (SELECT max(lease_until) FROM job WHERE kind = job_turn.kind AND lease <> '') AS last_lease FROM job_turn`;

/** Times of the jobs of each kind. */
export async function jobTimes(transaction: Transaction, values: { now: number }): Promise<Map<string, JobTimes>> {
  const rows = await transaction.all(JOB_TIMES, values);
  return new Map(
    rows.map(({ kind, early, late, last_early, last_late, last_lease }) => {
      const due = [early, late].filter((time) => time !== null).map(Number);
      const latest = Math.max(...[last_early, last_late, last_lease].map(Number));
      return [String(kind), { ...(due.length > 0 && { dueAt: Math.min(...due) }), latest }];
    }),
  );
}

/** All due jobs, oldest first; undefined if there are too many. */
export async function dueJobs(transaction: Transaction, search: JobSearch): Promise<JobCandidate[] | undefined> {
  const rows = await transaction.all(
    `SELECT id, lane, owner, due_at FROM job
     WHERE kind = :kind AND late = :late AND due_at <= :until AND lease_until <= :now
     ORDER BY due_at LIMIT :most`,
    { ...search, most: MAX_SCANNED_JOBS },
  );
  return rows.length < MAX_SCANNED_JOBS ? rows.map(jobCandidate) : undefined;
}

/** First job of the first queue that matches the condition; the index avoids reading the jobs behind it. */
function firstJobSql(condition: string): string {
  return `(SELECT id FROM job AS first WHERE kind = :kind AND late = :late AND ${condition}
    ORDER BY lane, owner, due_at LIMIT 1)`;
}

const SKIPPED_LANES = Array.from({ length: MAX_SKIPPED_LANES }, (_, index) => `skipped${index}`);

/** First job of the next queue: of the same lane unless it is skipped, else of the next lane. */
function nextJobSql(lane: string, owner: string): string {
  const skipped = SKIPPED_LANES.map((name) => `:${name}`).join(', ');
  return `coalesce(
    CASE WHEN ${lane} IN (${skipped}) THEN NULL ELSE ${firstJobSql(`lane = ${lane} AND owner > ${owner}`)} END,
    ${firstJobSql(`lane > ${lane}`)})`;
}

function walkSql(start: string): string {
  return `WITH RECURSIVE walk (id, step) AS (
      SELECT ${start}, 1
      UNION ALL
      SELECT ${nextJobSql('job.lane', 'job.owner')}, walk.step + 1
      FROM walk JOIN job ON job.id = walk.id WHERE walk.step < :steps
    )
    SELECT place.lane, place.owner, head.id, head.due_at
    FROM (
      SELECT queue.lane, queue.owner, walk.step,
        (SELECT id FROM job AS first
         WHERE kind = :kind AND late = :late AND lane = queue.lane AND owner = queue.owner
           AND lease_until <= :now AND due_at <= :until ORDER BY due_at LIMIT 1) AS id
      FROM walk JOIN job AS queue ON queue.id = walk.id
    ) AS place LEFT JOIN job AS head ON head.id = place.id ORDER BY place.step`;
}

const WALK_FROM_START = walkSql(firstJobSql('1 = 1'));
const WALK_FROM_CURSOR = walkSql(nextJobSql(':lane', ':owner'));

export interface WalkOptions {
  /** Queue after which the walk begins; the first queue if absent. */
  cursor?: Queue | undefined;
  /** Lanes of which at most one queue is visited. */
  fullLanes: readonly string[];
}

/** Visits queues after a keyset cursor. `end` is the next cursor, undefined after the last queue. */
export async function walkQueues(
  transaction: Transaction,
  search: JobSearch,
  { cursor, fullLanes }: WalkOptions,
): Promise<{ heads: JobCandidate[]; end: Queue | undefined }> {
  const steps = await transaction.all(cursor ? WALK_FROM_CURSOR : WALK_FROM_START, {
    ...search,
    ...cursor,
    ...skippedLanes(fullLanes),
    steps: MAX_WALK_STEPS,
  });
  const last = steps.length < MAX_WALK_STEPS ? undefined : steps.at(-1);
  const heads = steps.filter((step) => step.id !== null).map(jobCandidate);
  return { heads, end: last && queueOf(last) };
}

/** Unused names get the first full lane, or NULL, which is no lane. */
function skippedLanes(lanes: readonly string[]): Row {
  return Object.fromEntries(SKIPPED_LANES.map((name, index) => [name, lanes[index] ?? lanes[0] ?? null]));
}

function jobCandidate(row: Row): JobCandidate {
  return { id: String(row.id), dueAt: Number(row.due_at), ...queueOf(row) };
}

function queueOf(row: Row): Queue {
  return { lane: String(row.lane), owner: String(row.owner) };
}
