/** Import of the key journal of earlier versions: one JSON event per line. */

import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyRow, SecretRow } from '../store/operations/keys.ts';
import type { Store } from '../store/store.ts';

type Event =
  | {
      event: 'create';
      id: string;
      name: string;
      digest: string;
      prefix: string;
      /** Unix milliseconds, like all timestamps here. */
      created: number;
      expires?: number;
      models?: string[];
    }
  | { event: 'revoke'; id: string; revoked: number };

interface Imported {
  key: KeyRow;
  secret: SecretRow;
}

/** Whether the folder has the key journal of an earlier version, `keys.jsonl`. */
export function hasJournal(folder: string): boolean {
  return existsSync(journalOf(folder));
}

function journalOf(folder: string): string {
  return join(folder, 'keys.jsonl');
}

/** Does nothing without a journal. An imported journal is renamed to `keys.jsonl.imported`. */
export async function importJournal(folder: string, store: Store): Promise<void> {
  if (!hasJournal(folder)) return;
  const path = journalOf(folder);
  // An incomplete last line is ignored.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const keys = replay(lines.flatMap(parseEvent));
  if (keys.length > 0) await store.call('importKeys', { keys, author: { actor: 'gateway' }, now: store.now() });
  try {
    renameSync(path, `${path}.imported`);
  } catch (error) {
    // Another process imported it concurrently.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function replay(events: Event[]): Imported[] {
  const keys = new Map<string, Imported>();
  for (const event of events) {
    switch (event.event) {
      case 'create': {
        const { id, name, digest, prefix, created, expires, models } = event;
        const key = {
          id,
          name,
          settings: JSON.stringify({ models }),
          createdAt: created,
          expiresAt: expires ?? null,
          revokedAt: null,
        };
        keys.set(id, { key, secret: { digest, prefix } });
        break;
      }
      case 'revoke': {
        const known = keys.get(event.id);
        if (known) known.key.revokedAt ??= event.revoked;
        break;
      }
    }
  }
  return [...keys.values()];
}

function parseEvent(line: string): Event[] {
  try {
    const event = JSON.parse(line);
    return event?.event === 'create' || event?.event === 'revoke' ? [event] : [];
  } catch {
    return [];
  }
}
