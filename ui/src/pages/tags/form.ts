/** Limits and budgets of a tag as a form, as a body of the API and as a command. */

import type { Limits } from '../../keys.ts';
import { LIMITS, limitTexts } from '../../parts/limits.ts';
import { PERIODS, type Period } from '../../periods.ts';
import type { OtherChange } from '../../shared-changes.ts';
import { quoted } from '../../shell.ts';
import type { TagView } from './query.ts';

export type Limit = keyof Limits;

interface TagForm {
  tag: string;
  limits: Record<Limit, string>;
  budgets: Record<Period, string>;
}

interface TagBody {
  limits: Record<string, number | string | null>;
  budgets: Record<string, string | null>;
}

/** Empty fields without a tag. */
export function formOf(view: TagView | undefined): TagForm {
  return {
    tag: view?.tag ?? '',
    limits: limitTexts(view?.limits),
    budgets: {
      day: view?.budgets.day?.limit ?? '',
      week: view?.budgets.week?.limit ?? '',
      month: view?.budgets.month?.limit ?? '',
      total: view?.budgets.total?.limit ?? '',
    },
  };
}

export const isTag = (text: string): boolean => /^\w[\w.@:-]*=\w[\w.@:-]*$/.test(text);

export function isEmptyForm({ limits, budgets }: TagForm): boolean {
  return [...Object.values(limits), ...Object.values(budgets)].every((text) => text.trim() === '');
}

/** What was changed; null takes it back. A text that is no number is sent as it is: the gateway says what is wrong with it. */
export function bodyOfTag({ limits, budgets }: TagForm, before: TagForm): TagBody {
  return {
    limits: changed(limits, before.limits, (text) => (/^\d{1,15}$/.test(text) ? Number(text) : text)),
    budgets: changed(budgets, before.budgets, (text) => text),
  };
}

export const pathOfTag = (tag: string): string => `/admin/v1/tags/${encodeURIComponent(tag)}`;

/** The command changes what it names only, so what is emptied is named. */
export function commandOfTag(form: TagForm, before: TagForm): string {
  const change = (now: string, then: string) => (now.trim() === '' ? then.trim() && 'none' : now.trim());
  const limits = LIMITS.flatMap(({ limit, option }) => {
    const value = change(form.limits[limit], before.limits[limit]);
    return value === '' ? [] : [`${option} ${quoted(value)}`];
  });
  const budgets = PERIODS.flatMap((period) => {
    const value = change(form.budgets[period], before.budgets[period]);
    return value === '' ? [] : [quoted(`${period}=${value}`)];
  });
  if (budgets.length > 0) limits.push(`--budget ${budgets.join(' ')}`);
  return [`polygate tags set ${quoted(form.tag.trim() || 'NAME=VALUE')}`, ...limits].join(' \\\n  ');
}

const PARTS = ['limits', 'budgets'] as const;

/** Texts of some fields. */
export interface TagTexts {
  limits: Record<string, string>;
  budgets: Record<string, string>;
}

/**
 * Fields of a body that others have set to something else than it has since the form has shown them; `seen` has what it has
 * shown of each that was typed into.
 */
export function changesOfOthers(body: TagBody, now: TagTexts, seen: TagTexts): OtherChange[] {
  return PARTS.flatMap((part) =>
    Object.entries(body[part]).flatMap(([name, own]) => {
      const value = now[part][name] ?? '';
      const isKnown = value === (seen[part][name] ?? value) || value === String(own ?? '');
      return isKnown ? [] : [{ path: `${part}.${name}`, value: value || null }];
    }),
  );
}

function changed<Value>(
  texts: Record<string, string>,
  before: Record<string, string>,
  read: (text: string) => Value,
): Record<string, Value | null> {
  return Object.fromEntries(
    Object.entries(texts)
      .filter(([name, text]) => text.trim() !== before[name])
      .map(([name, text]) => [name, text.trim() === '' ? null : read(text.trim())]),
  );
}
