/** `polygate audit`: the audit log of keys and secrets, newest first. */

import { loadConfig } from '../config/load.ts';
import { openStore } from '../store/open.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['WHEN', 'WHO', 'WHAT', 'OF', 'BEFORE', 'AFTER'];

export async function showAudit(
  options: ConfigOptions & { limit: number; subject?: string; json?: boolean },
): Promise<void> {
  const { limit, subject } = options;
  const store = await openStore({ ...loadConfig(configSource(options)), role: 'guest' });
  try {
    const entries = (await store.call('readAudit', { limit, ...(subject !== undefined && { subject }) })).map(
      ({ at, ...entry }) => ({ ...entry, at: new Date(at).toISOString() }),
    );
    if (options.json) return printJson(entries);
    const rows = entries.map(({ at, actor, action, subject: of, before, after }) =>
      [at, actor, action, of, before, after].map((cell) =>
        typeof cell === 'object' ? JSON.stringify(cell) : (cell ?? ''),
      ),
    );
    printTable(HEADINGS, rows);
  } finally {
    await store.close();
  }
}
