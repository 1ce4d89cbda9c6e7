/** Notes and limits per model of a key as lines of text. */

import type { Limits } from '../../keys.ts';

const LIMIT_WORDS: Record<string, keyof Limits> = {
  rpm: 'requests_per_minute',
  tpm: 'tokens_per_minute',
  concurrent: 'concurrent_requests',
};

export function noteLines(notes: Record<string, string>): string {
  return Object.entries(notes)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

/** A value may have spaces. */
export function notesIn(text: string): Record<string, string> {
  const lines = linesIn(text).map((line): [string, string] => {
    const [name = ''] = line.split('=', 1);
    return [name.trim(), line.slice(name.length + 1).trim()];
  });
  return Object.fromEntries(lines);
}

export function modelLimitLines(limits: Record<string, Limits>): string {
  const wordsOf = (one: Limits) =>
    Object.entries(LIMIT_WORDS).flatMap(([word, name]) => (one[name] === undefined ? [] : [`${word}=${one[name]}`]));
  return Object.entries(limits)
    .map(([glob, one]) => [glob, ...wordsOf(one)].join(' '))
    .join('\n');
}

/** By globs; null removes a limit, or all of a glob. Undefined if nothing is other than `before`. */
export function changedModelLimits(text: string, before: string): Record<string, unknown> | undefined {
  const [now, then] = [modelLimitsIn(text), modelLimitsIn(before)];
  const entries = [...new Set([...Object.keys(then), ...Object.keys(now)])].flatMap((glob): [string, unknown][] => {
    const [limits, earlier = {}] = [now[glob], then[glob]];
    if (!limits) return [[glob, null]];
    const removed = Object.keys(earlier).flatMap((name) => (name in limits ? [] : [[name, null] as const]));
    const changed = Object.entries(limits).filter(([name, value]) => value !== earlier[name]);
    const isSame = glob in then && removed.length + changed.length === 0;
    return isSame ? [] : [[glob, Object.fromEntries([...removed, ...changed])]];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** What a line has beside limits is sent, too: the gateway says what is wrong with it. */
function modelLimitsIn(text: string): Record<string, Record<string, number | string>> {
  const lines = linesIn(text).map((line): [string, Record<string, number | string>] => {
    const [glob = '', ...words] = line.split(/\s+/);
    const limits = words.map((word): [string, number | string] => {
      const [name = '', count = ''] = word.split('=', 2);
      return [LIMIT_WORDS[name] ?? name, countOf(count)];
    });
    return [glob, Object.fromEntries(limits)];
  });
  return Object.fromEntries(lines);
}

function linesIn(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

/** A text that is no number is sent as it is: the gateway says what is wrong with it. */
export function countOf(text: string): number | string {
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}
