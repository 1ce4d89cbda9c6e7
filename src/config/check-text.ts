/** Check of a configuration's text that reads neither files nor the values of environment variables. */

import { unreadVariables } from './environment.ts';
import { type ConfigSource, examineConfig } from './load.ts';
import type { Config } from './resolved.ts';
import type { SourceProblem } from './source.ts';

export interface CheckedText {
  problems: SourceProblem[];
  /** Paths of values that come from environment variables, and are not checked. */
  unchecked: string[];
  /** Configuration with placeholders for unchecked values; absent if there are problems. */
  config?: Config;
}

/** The sender of the text must not learn values of variables or contents of files: variables become placeholders, and files stay closed. */
export function checkConfigText(text: string, source: ConfigSource): CheckedText {
  const lookUp = unreadVariables(source.environment);
  const { config, problems, missing, references } = examineConfig(text, source, { lookUp, readsFiles: false });
  const unchecked = [...references.keys()].filter((path) => !missing.has(path));
  const known = problems.filter(({ path }) => !unchecked.includes(path));
  return { problems: known, unchecked, ...(known.length === 0 && config && { config }) };
}
