/** Deployments of a LiteLLM configuration as they are read, and references to the environment: `os.environ/NAME` there, `${NAME}` here. */

import type { Json } from '../../core/json/json.ts';
import type { Note, SecretVariable } from './settings.ts';

/** Settings of a deployment, and its facts about the model. */
export interface Deployment {
  params: Json;
  info: Json;
  note: Note;
  /** Reference to a setting that is a secret; one in the file gets a variable of its own, and a note. */
  secretOf(setting: string, variable: string): string;
}

const VARIABLE = /^os\.environ\/(\w+)$/;
const VARIABLES = /"os\.environ\/(\w+)"/g;

/** A value with its reference replaced; undefined for an empty one. */
export function referenceOf(value: unknown): string | undefined {
  if (value == null || value === '') return undefined;
  const text = String(value);
  const name = VARIABLE.exec(text)?.[1];
  return name === undefined ? text : `\${${name}}`;
}

/** Names of all variables that a file refers to. */
export function variablesOf(file: Json): string[] {
  return [...(JSON.stringify(file) ?? '').matchAll(VARIABLES)].map(([, name = '']) => name);
}

/** The variable that a value names; a secret in the file is never written. */
export function secretReference(
  value: unknown,
  wanted: string,
  { variable, onSecret }: { variable: SecretVariable; onSecret: (advice: string) => void },
): string {
  const named = typeof value === 'string' ? VARIABLE.exec(value)?.[1] : undefined;
  if (named !== undefined) return `\${${named}}`;
  const name = variable(value, wanted);
  onSecret(`is a secret in the file: put it into the variable ${name}`);
  return `\${${name}}`;
}
