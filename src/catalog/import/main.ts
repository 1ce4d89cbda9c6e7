/** Command that refreshes the bundled catalog: `node src/catalog/import/main.ts SOURCE [--format F] [--out FILE] [--fresh]`. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { CatalogEntry } from '../entry.ts';
import { type ImportResult, importModels, sourceFormats } from './import.ts';
import { fileText } from './merge.ts';

const USAGE = `Usage: npm run catalog -- SOURCE [options]
SOURCE is a file or an https URL.
  --format F   ${sourceFormats.map(({ name }) => name).join(', ')}; found out from the content by default
  --out FILE   the catalog file, src/catalog/models.json by default
  --fresh      drop models that the source doesn't mention`;

const FETCH_TIMEOUT_MS = 60_000;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { format: { type: 'string' }, out: { type: 'string' }, fresh: { type: 'boolean' } },
  });
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Error(USAGE);
  const out = values.out ?? fileURLToPath(new URL('../models.json', import.meta.url));
  const before: CatalogEntry[] = existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : [];
  const result = importModels(await load(source), { before, format: values.format, fresh: values.fresh });
  writeFileSync(out, fileText(result.entries));
  console.log(table(result));
}

async function load(source: string): Promise<string> {
  if (!/^[a-z]+:\/\//i.test(source)) return readFileSync(source, 'utf8');
  if (!source.startsWith('https://')) throw new Error('only https URLs are fetched');
  const response = await fetch(source, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${source} answered ${response.status}`);
  return response.text();
}

function table({ format, read, served, added, changed, removed, entries }: ImportResult): string {
  const rows = [
    ['format', format],
    ['models read', read],
    ['chat models of served providers', served],
    ['added', added.length],
    ['changed', changed.length],
    ['removed', removed.length],
    ['in the file', entries.length],
  ];
  const ids = [...added.map((id) => `+ ${id}`), ...changed.map((id) => `~ ${id}`), ...removed.map((id) => `- ${id}`)];
  const shown = ids.length > 40 ? [...ids.slice(0, 40), `  and ${ids.length - 40} more`] : ids;
  return [...rows.map(([label, value]) => `${String(label).padEnd(34)}${value}`), ...shown].join('\n');
}

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
