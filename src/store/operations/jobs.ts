/** Job queue: claims with leases, limits per lane and owner, and fair order. */

import type { Lease, NewJob } from '../job-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { dueJobs, type JobCandidate, jobTimes, type Queue, walkQueues } from './job-candidates.ts';

export interface Claim {
  kind: string;
  /** Unix milliseconds, like all timestamps here. */
  now: number;
  /** Claims jobs that are due by this time. */
  until: number;
  /** Takes leases that expired by this time; `now` if absent. */
  expiredBy?: number;
  lease: string;
  leaseUntil: number;
  /** Limit of claimed jobs, and of low-priority (`late`) jobs among them. */
  slots: number;
  lateSlots: number;
  /** Limits of concurrently leased jobs of a lane and of an owner, across all gateways. */
  maxPerLane: number;
  maxPerOwner: number;
  /** Keyset cursors of the last claim in a backlog, for normal and low-priority jobs. */
  cursors?: QueueCursors;
  /** Rate limits of lanes. */
  rates?: LaneRates;
}

/** Number of jobs that may be claimed now from each lane whose name starts with the prefix. */
export interface LaneRates {
  prefix: string;
  lanes: Record<string, number>;
  /** Limit of a lane with the prefix that is not in `lanes`. */
  unlisted: number;
}

export interface QueueCursors {
  early?: Queue;
  late?: Queue;
}

/** A job that is leased. `id` and `lease` guard every write made for it. */
export interface ClaimedJob extends Lease, NewJob {
  /** Completed attempts before this one. */
  attempt: number;
  /** Number of claims, including this one. */
  claims: number;
  faults: number;
  late: boolean;
}

export interface Claimed {
  jobs: ClaimedJob[];
  cursors: QueueCursors;
}

/** Consecutive connection failures after which a lane is probed by one job at a time. */
const UNREACHABLE_LANE_FAILURES = 20;
/** Jobs leased by one statement. */
const CLAIM_BATCH_SIZE = 32;
/** Walks through a backlog in one claim. */
const MAX_WALKS = 16;

/**
 * Leases due jobs: normal before low-priority ones, round-robin over lanes. The backlog of a lane or owner at its limit adds
 * no cost.
 */
export const claimJobs = writing<Claim, Claimed>('state', async (transaction, asked) => {
  const claim = { ...asked, now: asked.expiredBy ?? asked.now };
  await lockJobKind(transaction, claim.kind);
  const capacity = await capacityFor(transaction, claim);
  const early = await claimTier(transaction, claim, {
    late: 0,
    slots: claim.slots,
    capacity,
    cursor: claim.cursors?.early,
  });
  const slots = Math.min(claim.slots - early.jobs.length, claim.lateSlots);
  const late = await claimTier(transaction, claim, { late: 1, slots, capacity, cursor: claim.cursors?.late });
  return { jobs: [...early.jobs, ...late.jobs], cursors: { early: early.cursor, late: late.cursor } };
});

interface Tier {
  late: 0 | 1;
  slots: number;
  capacity: Capacity;
  cursor?: Queue;
}

interface TierClaimed {
  jobs: ClaimedJob[];
  cursor?: Queue;
}

async function claimTier(transaction: Transaction, claim: Claim, tier: Tier): Promise<TierClaimed> {
  if (tier.slots <= 0) return { jobs: [], cursor: tier.cursor };
  const { kind, now, until } = claim;
  const due = await dueJobs(transaction, { kind, now, until, late: tier.late });
  if (due === undefined) return claimBacklog(transaction, claim, tier);
  return { jobs: await leaseJobs(transaction, claim, selectFairly(due, tier.capacity, tier.slots)) };
}

/** Leases one job of each queue in turn until the limits are reached. */
async function claimBacklog(transaction: Transaction, claim: Claim, tier: Tier): Promise<TierClaimed> {
  const { kind, now, until } = claim;
  const search = { kind, now, until, late: tier.late };
  const jobs: ClaimedJob[] = [];
  let { cursor } = tier;
  let walkedInVain = cursor === undefined;
  for (let walks = 0; walks < MAX_WALKS && jobs.length < tier.slots; walks++) {
    const { heads, end } = await walkQueues(transaction, search, { cursor, fullLanes: tier.capacity.fullLanes() });
    const chosen = selectFairly(heads, tier.capacity, tier.slots - jobs.length);
    jobs.push(...(await leaseJobs(transaction, claim, chosen)));
    if (chosen.length > 0) walkedInVain = false;
    if (end === undefined && walkedInVain) return { jobs };
    if (end === undefined) walkedInVain = true;
    cursor = jobs.length < tier.slots ? end : queueOfLast(heads, chosen);
  }
  return { jobs, cursor };
}

/** Cursor behind the last queue that was served, so that every queue has its turn. */
function queueOfLast(heads: readonly JobCandidate[], chosen: readonly string[]): Queue | undefined {
  const ids = new Set(chosen);
  const last = heads.findLast((job) => ids.has(job.id));
  return last && { lane: last.lane, owner: last.owner };
}

/** Serializes claims of one kind, so that their counts are exact. */
async function lockJobKind(transaction: Transaction, kind: string): Promise<void> {
  const lock = `SELECT kind FROM job_turn WHERE kind = :kind ${transaction.forUpdate}`;
  if ((await transaction.all(lock, { kind })).length > 0) return;
  await transaction.insert('job_turn', [{ kind }], { ignoreDuplicates: true });
  await transaction.all(lock, { kind });
}

interface Capacity {
  /** Reserves capacity for a job; false if a limit is reached. */
  reserve(job: JobCandidate): boolean;
  /** Lanes from which no job can be claimed now. */
  fullLanes(): string[];
}

async function capacityFor(
  transaction: Transaction,
  { kind, now, maxPerLane, maxPerOwner, rates }: Claim,
): Promise<Capacity> {
  const held = await transaction.all(
    `SELECT lane, owner, count(*) AS n FROM job
     WHERE kind = :kind AND lease <> '' AND lease_until > :now GROUP BY lane, owner`,
    { kind, now },
  );
  const unreachableLanes = await transaction.all(
    'SELECT lane FROM job_lane WHERE kind = :kind AND failures >= :least',
    {
      kind,
      least: UNREACHABLE_LANE_FAILURES,
    },
  );
  const unreachable = new Set(unreachableLanes.map((row) => row.lane));
  const lanes = new Map<string, number>();
  const owners = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string, n: number) => counts.set(name, (counts.get(name) ?? 0) + n);
  for (const row of held) {
    add(lanes, String(row.lane), Number(row.n));
    add(owners, String(row.owner), Number(row.n));
  }
  const claimed = new Map<string, number>();
  function isFull(lane: string): boolean {
    const maxInLane = unreachable.has(lane) ? 1 : maxPerLane;
    return (lanes.get(lane) ?? 0) >= maxInLane || (claimed.get(lane) ?? 0) >= rateLimitOf(rates, lane);
  }
  return {
    reserve({ lane, owner }) {
      if (isFull(lane) || (owners.get(owner) ?? 0) >= maxPerOwner) return false;
      add(lanes, lane, 1);
      add(claimed, lane, 1);
      add(owners, owner, 1);
      return true;
    },
    fullLanes: () => [...new Set([...lanes.keys(), ...Object.keys(rates?.lanes ?? {})])].filter(isFull),
  };
}

function rateLimitOf(rates: LaneRates | undefined, lane: string): number {
  if (!rates || !lane.startsWith(rates.prefix)) return Number.POSITIVE_INFINITY;
  return rates.lanes[lane] ?? rates.unlisted;
}

/** Round-robin over lanes; within a lane oldest first. */
function selectFairly(candidates: readonly JobCandidate[], { reserve }: Capacity, slots: number): string[] {
  const lanes = Map.groupBy(candidates, ({ lane }) => lane);
  const ranked = [...lanes.values()].flatMap((jobs) =>
    jobs.sort((one, other) => one.dueAt - other.dueAt).map((job, rank) => ({ job, rank })),
  );
  ranked.sort((one, other) => one.rank - other.rank);
  const chosen: string[] = [];
  for (const { job } of ranked) {
    if (chosen.length === slots) break;
    if (reserve(job)) chosen.push(job.id);
  }
  return chosen;
}

/** Skips jobs that were leased meanwhile. */
async function leaseJobs(transaction: Transaction, claim: Claim, ids: readonly string[]): Promise<ClaimedJob[]> {
  const names = Array.from({ length: CLAIM_BATCH_SIZE }, (_, index) => `id${index}`);
  const sql = `WITH free AS MATERIALIZED (
      SELECT id FROM job WHERE id IN (${names.map((name) => `:${name}`).join(', ')}) AND lease_until <= :now
      ${transaction.skipLocked}
    )
    UPDATE job SET lease = :lease, lease_until = :leaseUntil, claims = claims + 1
    WHERE id IN (SELECT id FROM free)
    RETURNING id, kind, ref, lane, owner, due_at, attempt, claims, faults, late, lease`;
  const taken: ClaimedJob[] = [];
  for (let start = 0; start < ids.length; start += CLAIM_BATCH_SIZE) {
    const values: Row = { now: claim.now, lease: claim.lease, leaseUntil: claim.leaseUntil };
    for (const [index, name] of names.entries()) values[name] = ids[start + index] ?? '';
    taken.push(...(await transaction.all(sql, values)).map(claimedJob));
  }
  return taken.sort((one, other) => one.dueAt - other.dueAt);
}

function claimedJob(row: Row): ClaimedJob {
  const number = (name: string) => Number(row[name]);
  const text = (name: string) => String(row[name]);
  return {
    id: text('id'),
    kind: text('kind'),
    ref: text('ref'),
    lane: text('lane'),
    owner: text('owner'),
    dueAt: number('due_at'),
    attempt: number('attempt'),
    claims: number('claims'),
    faults: number('faults'),
    late: number('late') === 1,
    lease: text('lease'),
  };
}

/** False when the lease is lost. */
export const renewJob = writing<Lease & { until: number }, boolean>('state', async (transaction, renewal) => {
  const sql = 'UPDATE job SET lease_until = :until WHERE id = :id AND lease = :lease';
  return (await transaction.run(sql, { ...renewal })) > 0;
});

/** Releases a job without an outcome. `faults` is 1 if the gateway caused that. */
export const returnJob = writing<Lease & { dueAt: number; faults: 0 | 1 }, void>('state', async (transaction, job) => {
  const sql = `UPDATE job SET lease = '', lease_until = 0, due_at = :dueAt, faults = faults + :faults
    WHERE id = :id AND lease = :lease`;
  await transaction.run(sql, { ...job });
});

/**
 * Corrects jobs after the clock was set back: due times and leases later than `now` move `by` milliseconds earlier, including
 * those that were already due, as do the moments from which submissions of videos count. Without a kind, for all kinds.
 */
export const shiftJobs = writing<{ kind?: string; now: number; by: number }, number>(
  'state',
  async (transaction, { kind = '', now, by }) => {
    const values = { kind, now, by };
    const planned = `(:kind = '' OR kind = :kind)`;
    await transaction.run(
      `UPDATE job SET lease_until = lease_until - :by WHERE ${planned} AND lease <> '' AND lease_until > :now`,
      values,
    );
    await transaction.run(
      `UPDATE video_attempt SET sent_at = sent_at - :by WHERE :kind IN ('', 'video') AND sent_at > :now`,
      values,
    );
    return transaction.run(`UPDATE job SET due_at = due_at - :by WHERE ${planned} AND due_at > :now`, values);
  },
);

/** Makes jobs due that wait for a time later than `latest`, and ends leases that last longer at `leaseUntil`, before which a holder renews its own. */
export const correctJobs = writing<{ kind: string; now: number; latest: number; leaseUntil: number }, void>(
  'state',
  async (transaction, { kind, now, latest, leaseUntil }) => {
    const values = { kind, latest };
    await transaction.run('UPDATE job SET due_at = :now WHERE kind = :kind AND due_at > :latest', { ...values, now });
    await transaction.run(
      "UPDATE job SET lease_until = :leaseUntil WHERE kind = :kind AND lease <> '' AND lease_until > :latest",
      { ...values, leaseUntil },
    );
  },
);

export const nextDueJobs = reading('state', jobTimes);

/** Whether there is any job of a kind. */
export const hasJobs = reading<{ kind: string }, boolean>('state', async (transaction, values) => {
  return (await transaction.all('SELECT id FROM job WHERE kind = :kind LIMIT 1', values)).length > 0;
});
