/** Snippets of the pages, and the model in them: one that the key may use. */

import { useQuery } from '@tanstack/react-query';
import { keyFacts } from './pages/key/query.ts';
import { modelNames } from './pages/models/query.ts';
import { useSession } from './session.ts';

// Pages take these from here, so that both modules are one file of the build.
export { LANGUAGE_OF, PROGRAMS, type Program, programOf, snippetOf } from './snippets.ts';

const FIRST_MODEL = 'sandbox/echo';

/** Those of `ids` that fit one of the globs; all of them for a key without globs. */
export function allowedOf(ids: readonly string[], globs: readonly string[] | null): string[] {
  return ids.filter((id) => globs === null || globs.some((glob) => fits(id, glob)));
}

/** The sandbox answers without a provider. */
export function firstModelOf(allowed: readonly string[]): string {
  return allowed.includes(FIRST_MODEL) ? FIRST_MODEL : (allowed[0] ?? FIRST_MODEL);
}

/** Whether a glob, in which * stands for any characters, fits. */
function fits(id: string, glob: string): boolean {
  const parts = glob.split('*');
  const [first = '', ...rest] = parts;
  if (!id.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return rest.length > 0 ? (rest.at(-1) === '' ? true : id.endsWith(rest.at(-1) ?? '')) : id === glob;
}

/** Model of a first request with the key of this session. */
export function useFirstModel(): string {
  const { isOperator } = useSession();
  const globs = useQuery({ ...keyFacts, enabled: !isOperator }).data?.models ?? null;
  const offered = useQuery({ ...modelNames, enabled: globs !== null }).data ?? [];
  const ids = offered.map(({ id }) => id);
  return firstModelOf(globs === null ? [] : allowedOf(ids, globs));
}
