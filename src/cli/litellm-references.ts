/** References to the environment in a LiteLLM configuration (`os.environ/NAME`) as references here (`${NAME}`). */

const VARIABLE = /^os\.environ\/(\w+)$/;

/** A value with its reference replaced; undefined for an empty one. */
export function referenceOf(value: unknown): string | undefined {
  if (value == null || value === '') return undefined;
  const text = String(value);
  const name = VARIABLE.exec(text)?.[1];
  return name === undefined ? text : `\${${name}}`;
}

/** The variable that a value names; a secret in the file is never written. */
export function secretReference(value: unknown, variable: string, onSecret: (advice: string) => void): string {
  const name = typeof value === 'string' ? VARIABLE.exec(value)?.[1] : undefined;
  if (name === undefined) onSecret(`is a secret in the file: put it into the variable ${variable}`);
  return `\${${name ?? variable}}`;
}
