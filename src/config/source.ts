/** Source of the configuration: the content of the file with environment variables substituted, line numbers by path. */

import { isObject, type Json } from '../core/json/json.ts';
import type { LookUpVariable } from './environment.ts';
import { readYaml } from './yaml-document.ts';

/** `path` as in `keys[0].name`, empty for the whole file; `line` starts at 1. */
export interface SourceProblem {
  path: string;
  line: number;
  message: string;
}

export interface Source {
  value: Json;
  /** Syntax problems; `value` is undefined if there are any. */
  problems: SourceProblem[];
  /** Unset environment variables by the path of the value that needs them. Such a value is undefined. */
  missing: ReadonlyMap<string, string[]>;
  /** Reasons for which variables cannot be read from their files, by the path of the value that needs them. It is missing, too. */
  unreadable: ReadonlyMap<string, string[]>;
  /** Environment variables by the path of the value that names them. */
  references: ReadonlyMap<string, string[]>;
  /** Line number, from 1, of the value at a path. */
  lineOf(path: string): number;
}

/** A value or item that begins with a reference, without quotes. */
const BARE_REFERENCE = /([[{,]\s*|:\s+)\$\{/;
/** Follows a key of YAML; a value with it needs quotes. */
const KEY_END = ': ';

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/** Substitutes `${NAME}` and `${NAME:-default}`; `$${` escapes `${`. A default also replaces an empty value. */
export function readSource(text: string, schema: Json, lookUp: LookUpVariable): Source {
  const { value, problem, lineOf } = readYaml(text);
  const problems: SourceProblem[] = [];
  if (problem) {
    const { line, message } = problem;
    problems.push({ path: '', line, message: message + hintOf(message, text.split('\n')[line - 1] ?? '') });
  }
  const missing = new Map<string, string[]>();
  const unreadable = new Map<string, string[]>();
  const references = new Map<string, string[]>();
  if (!text.includes('${')) return { value, problems, missing, unreadable, references, lineOf };
  const filled = substitute(value, schema, '', {
    lookUp,
    missing,
    unreadable,
    references,
    done: new Set(),
    report: (path, message) => problems.push({ path, line: lineOf(path), message }),
  });
  return { value: problems.length === 0 ? filled : undefined, problems, missing, unreadable, references, lineOf };
}

/** The usual cause of a syntax problem in a line. */
function hintOf(message: string, line: string): string {
  if (BARE_REFERENCE.test(line)) return `; between braces, put quotes around "\${NAME}"`;
  if (message === 'deficient indentation') return '; a quote, brace or bracket before it may not be closed';
  const hasTwoKeys = message.startsWith('bad indentation') && line.split(KEY_END).length > 2;
  return hasTwoKeys ? `; a value with "${KEY_END}" in it needs quotes` : '';
}

/** True for valid YAML with only white space, comments and document markers. */
export function isEmptyDocument(text: string): boolean {
  const { value, problem } = readYaml(text);
  return !problem && (value === undefined || value === null);
}

interface Substitution {
  lookUp: LookUpVariable;
  missing: Map<string, string[]>;
  unreadable: Map<string, string[]>;
  references: Map<string, string[]>;
  /** Values with several places, by aliases, are filled in once. */
  done: Set<object>;
  report(path: string, message: string): void;
}

/** Fills in the texts of a value, in place. */
function substitute(value: Json, schema: Json, path: string, filling: Substitution): Json {
  if (typeof value === 'string') return value.includes('${') ? fillIn(value, schema, path, filling) : value;
  if (typeof value !== 'object' || value === null || filling.done.has(value)) return value;
  filling.done.add(value);
  if (isObject(value)) {
    for (const name of Object.keys(value)) {
      value[name] = substitute(value[name], schemaOf(schema, name), path === '' ? name : `${path}.${name}`, filling);
    }
  } else {
    for (let index = 0; index < value.length; index++) {
      value[index] = substitute(value[index], schemaOf(schema, index), `${path}[${index}]`, filling);
    }
  }
  return value;
}

function fillIn(text: string, schema: Json, path: string, filling: Substitution): unknown {
  const unset: string[] = [];
  const unreadable: string[] = [];
  const named: string[] = [];
  const filled = text.replace(REFERENCE, (reference, name?: string, fallback?: string) => {
    if (reference === '$${') return '${';
    if (name === undefined) {
      filling.report(
        path,
        `has a "\${" that is no reference; write \${NAME} or \${NAME:-default}, or $\${ for the characters`,
      );
      return '';
    }
    named.push(name);
    const { value, problem } = filling.lookUp(name);
    if (problem !== undefined) unreadable.push(problem);
    else if (fallback !== undefined) return value || fallback;
    if (!value) unset.push(name);
    return value ?? '';
  });
  if (named.length > 0) filling.references.set(path, named);
  if (unset.length > 0) filling.missing.set(path, unset);
  if (unreadable.length > 0) filling.unreadable.set(path, unreadable);
  return unset.length > 0 ? undefined : coerce(filled, schema);
}

/** Converts the text of an environment variable to a type that the schema allows. */
function coerce(text: string, schema: Json): unknown {
  const types = (schema?.anyOf ?? [schema]).map((branch: Json) => branch?.type);
  if (types.includes('integer') && /^\d{1,15}$/.test(text)) return Number(text);
  if (types.includes('number') && /^\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

function schemaOf(schema: Json, key: string | number): Json {
  const shape = schema?.anyOf?.find((branch: Json) => branch.items) ?? schema;
  return shape?.properties?.[key] ?? shape?.items ?? Object.values(shape?.patternProperties ?? {})[0];
}
