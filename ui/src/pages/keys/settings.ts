/** Settings of a key as a form, as a body of the API, as a command and as a call with curl. */

import { type KeyView, type Limits, tagsOf } from '../../keys.ts';
import { LIMITS, limitTexts } from '../../parts/limits.ts';
import { PERIODS, type Period } from '../../periods.ts';
import { type Call, quoted } from '../../shell.ts';
import { changedModelLimits, countOf, modelLimitLines, noteLines, notesIn } from './lines.ts';

export interface KeyForm {
  name: string;
  owner: string;
  /** Each as `name=value`, with commas or spaces in between. */
  tags: string;
  models: string;
  budgets: Record<Period, string>;
  limits: Record<keyof Limits, string>;
  /** ISO date, in UTC. */
  expires: string;
  readOnly: boolean;
  surfaces: string;
  cidrs: string;
  /** Empty if it is as the configuration says. */
  storeResponses: '' | 'yes' | 'no';
  /** Each as `name=value` on a line. */
  metadata: string;
  /** A glob of models on each line, with limits such as `rpm=60`. */
  modelLimits: string;
}

export const NO_KEY: KeyForm = {
  name: '',
  owner: '',
  tags: '',
  models: '',
  budgets: { day: '', week: '', month: '', total: '' },
  limits: { requests_per_minute: '', tokens_per_minute: '', concurrent_requests: '' },
  expires: '',
  readOnly: false,
  surfaces: '',
  cidrs: '',
  storeResponses: '',
  metadata: '',
  modelLimits: '',
};

export const BUDGETS: readonly { period: Period; label: string; example: string }[] = [
  { period: 'month', label: 'Monthly budget', example: '25.00' },
  { period: 'day', label: 'Daily budget', example: '5.00' },
  { period: 'week', label: 'Weekly budget', example: '12.00' },
  { period: 'total', label: 'Total budget', example: '100.00' },
];

/** Settings that the key itself has; defaults of the configuration are no settings of it. */
export function formOfKey(view: KeyView): KeyForm {
  return {
    name: view.name,
    owner: view.owner ?? '',
    tags: tagsOf(view).join(', '),
    models: view.models?.join(', ') ?? '',
    budgets: { ...NO_KEY.budgets, ...view.budgets },
    limits: limitTexts(view.limits),
    expires: view.expires_at?.slice(0, 10) ?? '',
    readOnly: view.read_only,
    surfaces: view.surfaces?.join(', ') ?? '',
    cidrs: view.cidrs?.join(', ') ?? '',
    storeResponses: view.store_responses === null ? '' : view.store_responses ? 'yes' : 'no',
    metadata: noteLines(view.metadata),
    modelLimits: modelLimitLines(view.model_limits),
  };
}

/** Only what is other than `before`; null removes a setting. */
export function bodyOfKey(form: KeyForm, before = NO_KEY): Record<string, unknown> {
  const budgets = PERIODS.map((name) => [name, changed(form.budgets[name], before.budgets[name])] as const);
  const limits = LIMITS.map(({ limit }) => [limit, changed(form.limits[limit], before.limits[limit])] as const);
  return present({
    name: changed(form.name, before.name) ?? undefined,
    owner: changed(form.owner, before.owner),
    tags: changedTags(form.tags, before.tags),
    models: changedList(form.models, before.models),
    surfaces: changedList(form.surfaces, before.surfaces),
    cidrs: changedList(form.cidrs, before.cidrs),
    metadata: changedNames(notesIn(form.metadata), notesIn(before.metadata)),
    store_responses: form.storeResponses === before.storeResponses ? undefined : (STORES[form.storeResponses] ?? null),
    expires_at: changed(form.expires, before.expires),
    read_only: form.readOnly === before.readOnly ? undefined : form.readOnly,
    limits: members(limits.map(([name, text]) => [name, text && countOf(text)])),
    model_limits: changedModelLimits(form.modelLimits, before.modelLimits),
    budgets: members(budgets),
  });
}

export function commandOfKey(form: KeyForm, before = NO_KEY): string {
  const name = `--name ${quoted(form.name || 'NAME')}`;
  return ['polygate keys create', name, ...optionsOf({ ...form, name: '' }, before)].join(' \\\n  ');
}

export function commandOfChange(form: KeyForm, before: KeyForm): string {
  return [`polygate keys update ${quoted(before.name)}`, ...optionsOf(form, before)].join(' \\\n  ');
}

/** Options of what is other than `before`. */
function optionsOf(form: KeyForm, before: KeyForm): string[] {
  const list = (name: 'models' | 'surfaces' | 'cidrs') => {
    const items = changedList(form[name], before[name]);
    return items === null ? null : items?.join(',');
  };
  const notes = Object.entries(changedNames(notesIn(form.metadata), notesIn(before.metadata)) ?? {});
  const options: [option: string, text: string | null | undefined, none: string][] = [
    ['--name', changed(form.name, before.name), ''],
    ['--owner', changed(form.owner, before.owner), 'none'],
    ['--models', list('models'), 'all'],
    ['--surfaces', list('surfaces'), 'all'],
    ['--cidrs', list('cidrs'), 'all'],
    ...LIMITS.map(({ limit, option }): [string, string | null | undefined, string] => [
      option,
      changed(form.limits[limit], before.limits[limit]),
      'none',
    ]),
    ['--expires', changed(form.expires, before.expires), 'never'],
  ];
  const budgets = PERIODS.flatMap((period) => {
    const usd = changed(form.budgets[period], before.budgets[period]);
    return usd === undefined ? [] : [`--budget ${quoted(`${period}=${usd ?? 'none'}`)}`];
  });
  const tags = Object.entries(changedTags(form.tags, before.tags) ?? {});
  return [
    ...options.flatMap(([option, text, none]) =>
      text === undefined || (text ?? none) === '' ? [] : [`${option} ${quoted(text ?? none)}`],
    ),
    ...budgets,
    ...(tags.length > 0 ? [`--tag ${tags.map(([name, value]) => quoted(`${name}=${value ?? ''}`)).join(' ')}`] : []),
    ...(notes.length > 0
      ? [`--metadata ${notes.map(([name, value]) => quoted(`${name}=${value ?? ''}`)).join(' ')}`]
      : []),
    ...(form.readOnly === before.readOnly ? [] : [form.readOnly ? '--read-only' : '--no-read-only']),
    ...(form.storeResponses === before.storeResponses || form.storeResponses === ''
      ? []
      : [form.storeResponses === 'yes' ? '--store-responses' : '--no-store-responses']),
  ];
}

/** Parts of a change that only the API can make. */
export function beyondCommand(form: KeyForm, before = NO_KEY): string | undefined {
  const parts = [
    ...(changedModelLimits(form.modelLimits, before.modelLimits) ? ['limits per model'] : []),
    ...(form.storeResponses === '' && before.storeResponses !== '' ? ['the return to what is configured'] : []),
  ];
  return parts.length === 0 ? undefined : `The command leaves out ${parts.join(' and ')}: use the API.`;
}

/** Creates a key, or changes the one with the `hash`. */
export function callOfKey(body: Record<string, unknown>, hash?: string): Call {
  if (hash === undefined) return { path: '/admin/v1/keys', body };
  return { path: `/admin/v1/keys/${hash}`, method: 'PATCH', body };
}

/** Null if it was emptied, undefined if it is the same. */
function changed(text: string, before: string): string | null | undefined {
  return text.trim() === before.trim() ? undefined : text.trim() || null;
}

/** Null if it was emptied, undefined if it is the same. */
function changedList(text: string, before: string): string[] | null | undefined {
  return text === before ? undefined : (listOf(text) ?? null);
}

function changedTags(text: string, before: string): Record<string, string | null> | undefined {
  return changedNames(tagsIn(text), tagsIn(before));
}

/** Null removes a name. */
function changedNames(
  now: Record<string, string>,
  then: Record<string, string>,
): Record<string, string | null> | undefined {
  const entries = [
    ...Object.entries(now).filter(([name, value]) => then[name] !== value),
    ...Object.keys(then).flatMap((name) => (name in now ? [] : [[name, null] as const])),
  ];
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

const STORES: Partial<Record<string, boolean>> = { yes: true, no: false };
function tagsIn(text: string): Record<string, string> {
  const tags = (listOf(text) ?? []).map((tag) => {
    const [name = ''] = tag.split('=', 1);
    return [name, tag.slice(name.length + 1)];
  });
  return Object.fromEntries(tags);
}

function listOf(text: string): string[] | undefined {
  const items = text.split(/[\s,]+/).filter(Boolean);
  return items.length > 0 ? items : undefined;
}

/** Undefined without any. */
function members(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> | undefined {
  const facts = present(Object.fromEntries(entries));
  return Object.keys(facts).length > 0 ? facts : undefined;
}

function present(facts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}
