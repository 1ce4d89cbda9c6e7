/** `polygate catalog update`: newer facts about models from a public source, into the data folder. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { bundledModelEntries } from '../catalog/bundled.ts';
import { type CatalogUpdate, updateCatalog } from '../catalog/import/update.ts';
import { readCatalog, updatedCatalogPath, updatedCatalogText } from '../catalog/updated.ts';
import { loadConfig } from '../config/load.ts';
import { ByteCollector } from '../core/byte-collector.ts';
import { GatewayError } from '../core/errors.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import { isLoopback } from '../core/loopback.ts';
import { FetchFailure } from '../net/fetch-failure.ts';
import { createTrustedClient } from '../net/trusted-client.ts';
import { PRIVATE_FILE } from '../security/file-modes.ts';
import { replaceFile } from './replace-file.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printTable } from './table.ts';
import { unreachedReason } from './unreached.ts';

export interface CatalogUpdateOptions extends ConfigOptions {
  source?: string;
  format?: string;
  dryRun?: boolean;
  acceptPrices?: boolean;
}

const FETCH_TIMEOUT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const HEADINGS = ['MODEL', 'FACT', 'BEFORE', 'AFTER', ''];

export async function updateCatalogFile(options: CatalogUpdateOptions): Promise<void> {
  const { data, catalog, network } = loadConfig(configSource(options));
  const { source = catalog.source, format, dryRun = false, acceptPrices: acceptsPrices = false } = options;
  const { entries, problem } = readCatalog(data);
  const before = entries();
  if (problem !== undefined)
    process.stderr.write(`Warning: ${updatedCatalogPath(data)} ${problem}: the bundled facts count.\n`);
  const text = await load(source, network.proxy);
  const update = changesOf(text, source, { before, bundled: bundledModelEntries(), format, acceptsPrices });
  show(update);
  const isNew = update.added.length + update.changed.length > 0 || problem !== undefined;
  if (dryRun || !isNew) {
    process.stderr.write(dryRun ? 'Nothing was written.\n' : 'Nothing changed.\n');
    return;
  }
  replaceFile(updatedCatalogPath(data), updatedCatalogText(update.entries), PRIVATE_FILE);
  process.stderr.write(`Wrote ${updatedCatalogPath(data)}. A running gateway reads it on SIGHUP.\n`);
}

function changesOf(text: string, source: string, options: Parameters<typeof updateCatalog>[1]): CatalogUpdate {
  try {
    return updateCatalog(text, options);
  } catch (error) {
    throw invalid(`${source} gives no facts about models: ${(error as Error).message}`);
  }
}

/** Changes of known models on standard output, and how many there are on standard error. */
function show({ format, added, changed, changes }: CatalogUpdate): void {
  printTable(
    HEADINGS,
    changes.map(({ id, fact, before = 'unknown', after, refused }) => [
      id,
      fact,
      before,
      after,
      refused === undefined ? '' : `refused: ${refused}`,
    ]),
  );
  const refused = changes.filter((change) => change.refused !== undefined).length;
  process.stderr.write(`${format}: ${added.length} models added, ${changed.length} changed.\n`);
  if (refused > 0) process.stderr.write(`Refused: ${refused}. --accept-prices takes prices that you have checked.\n`);
}

async function load(source: string, proxy: HttpProxy | undefined): Promise<string> {
  const url = URL.parse(source);
  if (!url || !/^https?:$/.test(url.protocol)) {
    if (!existsSync(source)) throw invalid(`There is no file ${source}, and it is no http address.`);
    if (statSync(source).size > MAX_BYTES) throw invalid(`${source} has more than ${MAX_BYTES} bytes.`);
    return readFileSync(source, 'utf8');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) throw invalid('Only https addresses are asked for facts.');
  const client = createTrustedClient({ proxy });
  try {
    const { status, body } = await client.request(url.href, { method: 'GET', deadline: FETCH_TIMEOUT_MS });
    if (status !== 200) throw invalid(`${source} answered with ${status}.`);
    const collector = new ByteCollector();
    for await (const part of body) {
      collector.add(part);
      if (collector.size > MAX_BYTES) throw invalid(`${source} sends more than ${MAX_BYTES} bytes.`);
    }
    return collector.take().toString('utf8');
  } catch (error) {
    if (error instanceof GatewayError && !(error instanceof FetchFailure)) throw error;
    throw invalid(`${source} is not reached: ${unreachedReason(error)}`);
  } finally {
    await client.close();
  }
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message);
}
