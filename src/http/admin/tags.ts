/** Tag handlers of the admin API: tags of keys and of the configuration, and limits and budgets that operators set for them. */

import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { merged } from '../../core/json/merge.ts';
import type { Allotment } from '../../records/key-settings.ts';
import { parseTag } from '../../records/tags.ts';
import { listOrFile } from '../list-file.ts';
import { existingMomentOf } from './keys.ts';
import { PAGES, searchText, whole } from './query.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';
import { allotment, allotmentChange, type TagAllotment } from './schema.ts';
import { settingsPatch } from './settings.ts';
import { encodeTag, keysByTag, knownTags } from './tag-object.ts';

type TagHandlers = Pick<AdminHandlers, 'TagList' | 'Tag' | 'TagChange' | 'TagUpdate' | 'TagRemoval'>;

export function createTagHandlers({ keys, store, tags, admission, clock }: AdminOptions): TagHandlers {
  const options = () => ({ store, tags, reservations: admission.reservations, now: clock.now() });

  async function described(tag: string): Promise<Json> {
    const counts = keysByTag(await keys.list());
    return { data: await encodeTag(tag, counts.get(tag) ?? 0, options()) };
  }

  async function list(query: URLSearchParams): Promise<Json> {
    const limit = whole(query, 'limit', PAGES.tags);
    const search = searchText(query, 'search')?.toLowerCase() ?? '';
    const after = query.get('after') ?? '';
    if (after !== '' && !parseTag(after)) {
      throw new GatewayError('invalid_request', 'after must be the next of another page.', { param: 'after' });
    }
    await tags.refresh();
    const counts = keysByTag(await keys.list());
    const known = knownTags(counts, tags);
    const found = known.filter((tag) => tag.toLowerCase().includes(search));
    const later = found.filter((tag) => tag > after);
    const page = later.slice(0, limit);
    const asked = options();
    const data = await Promise.all(page.map((tag) => encodeTag(tag, counts.get(tag) ?? 0, asked)));
    const names = [...new Set(known.map((tag) => tag.split('=', 1)[0]))];
    return { data, names, total: found.length, next: later.length > page.length ? (page.at(-1) ?? null) : null };
  }

  async function show({ parameters }: AdminRequest): Promise<Json> {
    const tag = tagOf(parameters);
    await tags.refresh();
    return described(tag);
  }

  async function replace({ parameters, body, author }: AdminRequest): Promise<Json> {
    const tag = tagOf(parameters);
    assertValid(allotment, body);
    await tags.set(tag, allotmentOf(body as TagAllotment), author);
    return described(tag);
  }

  async function update({ parameters, body, author }: AdminRequest): Promise<Json> {
    const tag = tagOf(parameters);
    assertValid(allotmentChange, body);
    const { limits = {}, budgets = {} } = settingsPatch(body);
    const since = body.unchanged_since;
    const known = typeof since === 'string' ? existingMomentOf(since, 'unchanged_since') : since;
    await tags.change(tag, { limits, budgets }, author, known);
    return described(tag);
  }

  async function remove({ parameters, author }: AdminRequest): Promise<Json> {
    await tags.remove(tagOf(parameters), author);
    return { deleted: true };
  }

  return {
    TagList: ({ query }) => listOrFile('tags', query, list),
    Tag: show,
    TagChange: replace,
    TagUpdate: update,
    TagRemoval: remove,
  };
}

function tagOf({ tag = '' }: AdminRequest['parameters']): string {
  if (parseTag(tag)) return tag;
  throw new GatewayError('invalid_request', 'tag must be a tag such as team=search, encoded as team%3Dsearch.', {
    param: 'tag',
  });
}

/** Drops null members. Throws `invalid_request` if nothing is left. */
function allotmentOf(body: TagAllotment): Allotment {
  const { limits = {}, budgets = {} }: Allotment = merged({}, settingsPatch(body));
  if (Object.keys(limits).length + Object.keys(budgets).length > 0) return { limits, budgets };
  const message = 'limits or budgets must have an entry; DELETE takes all of them back.';
  throw new GatewayError('invalid_request', message, { param: 'limits' });
}
