/**
 * Export of usage records by the hour. An object is created once and never changed, and its records are those of its hour that
 * are in no object before it: so each record is in exactly one, whichever gateway is killed between any two steps.
 */

import type { Clock } from '../../core/clock.ts';
import type { ExportHour, ExportPage } from '../../store/operations/usage-export.ts';
import type { Store } from '../../store/store.ts';
import { idsIn, lineOf } from './line.ts';
import type { ExportTarget } from './target.ts';

export interface ExporterOptions {
  store: Pick<Store, 'call'>;
  target: ExportTarget;
  /** Names this gateway in the lease. */
  holder: string;
  clock: Pick<Clock, 'now'>;
  /** Records in an object. */
  maxRecords?: number;
}

export interface Exporter {
  /** Exports the hours that are over and have records which are not exported. Returns how many records were written. */
  run(keepMs: number): Promise<number>;
}

const HOUR_MS = 3_600_000;
/** Time after the end of an hour in which most of its last records arrive. */
const SETTLE_MS = 5 * 60_000;
const LEASE_MS = 10 * 60_000;
/** Hours of one look. */
const MAX_HOURS = 1000;
const PAGE_RECORDS = 2000;
/** About 10 MB. */
const MAX_RECORDS = 20_000;
const PARTS: ExportPage['of'][] = ['requests', 'others'];

export function createExporter({ store, target, holder, clock, maxRecords = MAX_RECORDS }: ExporterOptions): Exporter {
  const hasLease = () => {
    const now = clock.now();
    return store.call('leaseExport', { holder, now, until: now + LEASE_MS });
  };

  /** Undefined if another gateway has written an object meanwhile, or has the lease. */
  async function exportHour(hour: number): Promise<number | undefined> {
    const exported = new Set<string>();
    let part = 0;
    for (let text = await target.read(nameOf(hour, part)); text !== undefined; ) {
      for (const id of idsIn(text)) exported.add(id);
      part += 1;
      text = await target.read(nameOf(hour, part));
    }
    let written = 0;
    let lines: string[] = [];
    const write = async (): Promise<boolean> => {
      if (!(await hasLease())) return false;
      if (!(await target.create(nameOf(hour, part), Buffer.from(lines.join(''))))) return false;
      part += 1;
      written += lines.length;
      lines = [];
      return true;
    };
    for await (const { id, line } of records(hour)) {
      if (exported.has(id)) continue;
      lines.push(line);
      if (lines.length === maxRecords && !(await write())) return undefined;
    }
    if (lines.length > 0 && !(await write())) return undefined;
    return written;
  }

  async function* records(hour: number): AsyncGenerator<{ id: string; line: string }> {
    for (const of of PARTS) {
      let after: ExportPage['after'];
      for (;;) {
        const page = { hour, of, limit: PAGE_RECORDS, ...(after && { after }) };
        const rows = await store.call('recordsToExport', page);
        for (const row of rows) yield { id: String(row.id), line: lineOf(row) };
        const last = rows.at(-1);
        if (!last || rows.length < PAGE_RECORDS) break;
        after = { at: Number(last.at), id: String(last.id) };
      }
    }
  }

  return {
    async run(keepMs) {
      if (!(await hasLease())) return 0;
      const now = clock.now();
      const span = { from: hourOf(now - keepMs), to: hourOf(now - SETTLE_MS), limit: MAX_HOURS };
      const due: ExportHour[] = await store.call('hoursToExport', span);
      let total = 0;
      for (const { hour, records: count } of due) {
        const written = await exportHour(hour);
        // The next run lists the hours again.
        if (written === undefined) break;
        total += written;
        // Records that came while it was written are in `hoursToExport` again, which counted before.
        await store.call('noteExported', { hour, records: count });
      }
      return total;
    },
  };
}

function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS);
}

/** E.g. `date=2026-11-22/hour=07/part-0000.jsonl`. */
function nameOf(hour: number, part: number): string {
  const [date, rest = ''] = new Date(hour * HOUR_MS).toISOString().split('T');
  return `date=${date}/hour=${rest.slice(0, 2)}/part-${String(part).padStart(4, '0')}.jsonl`;
}
