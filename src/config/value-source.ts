/** Origin of each setting: a line of the file, environment variables, the command line, or the default. */

import { isObject, type Json } from '../core/json/json.ts';
import type { LookUpVariable } from './environment.ts';
import type { Source } from './source.ts';

export type ValueSource =
  | { from: 'file'; line: number }
  /** `line` where the file names the variables. */
  | { from: 'environment'; variables: string[]; line?: number }
  | { from: 'command line' }
  | { from: 'default' };

/** Names and indexes from the root, such as `['keys', 0, 'name']`. */
export type SettingPath = readonly (string | number)[];

export type FindValueSource = (path: SettingPath) => ValueSource;

interface SourceFinderOptions {
  /** Content of the file, with variables filled in. */
  file: Json;
  read: Pick<Source, 'references' | 'lineOf'>;
  /** Settings of the command line, which override the file. */
  overridden: readonly string[];
  /** Variables that enable a provider, by its id. */
  known: ReadonlyMap<string, { environment: readonly string[] }>;
  lookUp: LookUpVariable;
}

export function createSourceFinder(options: SourceFinderOptions): FindValueSource {
  const { file, read, overridden, known, lookUp } = options;
  return (path) => {
    const name = pathText(path);
    if (overridden.includes(name)) return { from: 'command line' };
    const variables = read.references.get(name);
    if (variables) return { from: 'environment', variables, line: read.lineOf(name) };
    if (valueAt(file, path) !== undefined) return { from: 'file', line: read.lineOf(name) };
    const [section, provider, setting] = path;
    if (section === 'providers' && setting === 'api_key') {
      const found = known.get(String(provider))?.environment.find((variable) => lookUp(variable).value);
      if (found !== undefined) return { from: 'environment', variables: [found] };
    }
    return { from: 'default' };
  };
}

/** Formats a path as problems show it: `keys[0].name`. */
export function pathText(path: SettingPath): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

function valueAt(value: Json, path: SettingPath): Json {
  let found = value;
  for (const part of path) {
    const isThere = Array.isArray(found) ? typeof part === 'number' : isObject(found) && Object.hasOwn(found, part);
    if (!isThere) return undefined;
    found = found[part];
  }
  return found ?? undefined;
}
