/**
 * Groups of usage records: those that a gateway wrote at once, as JSON. Groups are folded: added to the tables of records and the
 * sums together with others, and removed by the same transaction.
 */

import { type EncodedUsage, type UsageRow, usageRowOf } from './usage-row.ts';
import type { FinishedUsage, UsageChanges, WithdrawnIntent } from './usage-settlement.ts';

/** Write-ahead intent of a request. */
export interface InflightRow {
  id: string;
  instance: string;
  started_at: number;
  /** JSON of the record that is written if the gateway dies. */
  record: string;
}

/** A group as it is stored. */
export interface NotedGroup {
  instance: string;
  /** Place among the groups of the instance. */
  number: number;
  records: string;
}

/** Groups of an instance after `after`, up to `to`. */
export interface GroupRange {
  instance: string;
  after: number;
  to: number;
}

/** Begun requests as the records of their interruption, ended ones, and the ids and starts of withdrawn ones. */
export type EncodedGroup = [begun: EncodedUsage[], ended: EncodedUsage[], withdrawn: [id: string, startedAt: number][]];

/** Changes of the tables that groups of one instance amount to. */
export class GroupFold implements UsageChanges {
  readonly finished: FinishedUsage[] = [];
  readonly withdrawn: WithdrawnIntent[] = [];
  readonly #instance: string;
  /** Ids of requests whose intents are in the store; undefined if that is unknown. */
  readonly #intents: Set<string> | undefined;
  readonly #open = new Map<string, EncodedUsage>();

  constructor(instance: string, intents?: Set<string>) {
    this.#instance = instance;
    this.#intents = intents;
  }

  /** Adds a group; groups are added in their order. */
  add(records: string): void {
    const [begun, ended, withdrawn]: EncodedGroup = JSON.parse(records);
    for (const record of begun) this.#open.set(record[0] as string, record);
    for (const record of ended) {
      const row = usageRowOf(record);
      this.finished.push({ row, begun: this.#end(row.id) });
    }
    for (const [id, started_at] of withdrawn) this.withdrawn.push({ id, started_at, begun: this.#end(id) });
  }

  /** Rows of requests that began and did not end. */
  open(): UsageRow[] {
    return [...this.#open.values()].map(usageRowOf);
  }

  /** Intents of requests that began and did not end, as the store keeps them. */
  intents(): InflightRow[] {
    return this.open().map((row) => {
      this.#intents?.add(row.id);
      const record = JSON.stringify({ ...row, cost: String(row.cost) });
      return { id: row.id, instance: this.#instance, started_at: row.started_at, record };
    });
  }

  /** Whether the store may have an intent of the request. */
  #end(id: string): boolean {
    const isOpen = this.#open.delete(id);
    return this.#intents ? this.#intents.delete(id) : !isOpen;
  }
}
