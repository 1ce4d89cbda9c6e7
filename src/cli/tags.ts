/** `polygate tags`: limits and budgets that keys share by a tag. */

import { loadConfig } from '../config/load.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { encodeTag, keysByTag, knownTags } from '../http/admin/tag-object.ts';
import { createReservationReader } from '../limits/quota.ts';
import { createTagAllotments, type TagAllotments } from '../limits/tag-allotments.ts';
import { parseTag } from '../records/tags.ts';
import { type KeyOptions, parseKeySettings } from './key-options.ts';
import { fieldRows } from './key-view.ts';
import { AUTHOR, type StoreCreation, withKeys } from './keys.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

type TagCommandOptions = ConfigOptions & { json?: boolean };

interface OpenedTags {
  tags: TagAllotments;
  /** All tags that are known. */
  list(): Promise<Json[]>;
  describe(tag: string): Promise<Json>;
}

const HEADINGS = ['TAG', 'KEYS', 'LIMITS', 'BUDGETS', 'SPENT THIS MONTH', 'SET IN'];

const LIMIT_WORDS: Record<string, string> = {
  requests_per_minute: 'requests a minute',
  tokens_per_minute: 'tokens a minute',
  concurrent_requests: 'requests at once',
};

/** Works while a gateway runs on the same store. */
async function withTags<Result>(
  options: ConfigOptions,
  work: (opened: OpenedTags) => Promise<Result>,
  creation?: StoreCreation,
): Promise<Result> {
  const config = loadConfig(configSource(options));
  const { now } = systemClock;
  return withKeys(
    config,
    async ({ store, keys }) => {
      const tags = createTagAllotments({ store, config: () => config, now });
      await tags.refresh();
      const counts = keysByTag(await keys.list());
      const reservations = createReservationReader({ store });
      const describe = (tag: string) => encodeTag(tag, counts.get(tag) ?? 0, { store, reservations, tags, now: now() });
      return work({ tags, describe, list: () => Promise.all(knownTags(counts, tags).map(describe)) });
    },
    creation,
  );
}

export async function listTags(options: TagCommandOptions): Promise<void> {
  const tags = await withTags(options, ({ list }) => list());
  if (options.json) printJson(tags);
  else printTable(HEADINGS, tags.map(rowOf));
}

/** Options that are not given change nothing. */
export async function setTag(text: string, options: TagCommandOptions & KeyOptions): Promise<void> {
  const tag = tagOf(text);
  const patch = parseKeySettings(options);
  const set = async ({ tags, describe }: OpenedTags) => {
    await tags.change(tag, patch, AUTHOR).catch(throwWithOptions);
    return describe(tag);
  };
  const described = await withTags(options, set, { createIfMissing: true });
  if (options.json) printJson(described);
  else printTable(['FIELD', 'VALUE'], fieldRows(described));
}

export async function removeTag(text: string, options: TagCommandOptions): Promise<void> {
  const tag = tagOf(text);
  await withTags(options, ({ tags }) => tags.remove(tag, AUTHOR));
  if (options.json) printJson({ deleted: true });
  else process.stdout.write(`The tag ${tag} has no limits and no budgets any more.\n`);
}

function tagOf(text: string): string {
  if (parseTag(text)) return text;
  throw new GatewayError('invalid_request', 'The tag must be name=value, such as team=search.');
}

/** The error where no limit and no budget is left names the options of this command. */
function throwWithOptions(error: unknown): never {
  if (!(error instanceof GatewayError) || error.param !== 'limits') throw error;
  const message = 'Give a limit or a budget with --rpm, --tpm, --concurrent or --budget; tags remove takes all back.';
  throw new GatewayError('invalid_request', message);
}

function rowOf({ tag, keys, limits, budgets, spent, origin }: Json): string[] {
  const limitWords = Object.entries<number>(limits).map(([name, limit]) => `${limit} ${LIMIT_WORDS[name] ?? name}`);
  const uses = Object.entries<Json>(budgets).map(([period, use]) => `${period} ${use.limit}, ${use.left} left`);
  return [tag, String(keys), limitWords.join('; '), uses.join('; '), spent.month, origin ?? ''];
}
