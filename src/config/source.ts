/** YAML source of the configuration: environment variables substituted, line numbers by path. */

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
} from 'yaml';
import type { Json } from '../core/json/json.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

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
  lineOf(path: string): number;
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/** Substitutes `${NAME}` and `${NAME:-default}`; `$${` escapes `${`. A default also replaces an empty value. */
export function readSource(text: string, schema: Json, environment: Environment): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const problems = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    path: '',
    line: lines.linePos(pos[0]).line,
    message,
  }));
  const lineOf = (path: string) => lines.linePos(offsetOf(document, path)).line;
  const missing = new Map<string, string[]>();
  const filling: Substitution = {
    environment,
    missing,
    report: (path, message) => problems.push({ path, line: lineOf(path), message }),
  };
  substitute(document.contents, schema, '', filling);
  return { value: problems.length === 0 ? contentOf(document, problems) : undefined, problems, missing, lineOf };
}

/** True for valid YAML with only white space, comments and document markers. */
export function isEmptyDocument(text: string): boolean {
  const { contents, errors } = parseDocument(text, { prettyErrors: false });
  return errors.length === 0 && (contents === null || (isScalar(contents) && contents.value === null));
}

interface Substitution {
  environment: Environment;
  missing: Map<string, string[]>;
  report(path: string, message: string): void;
}

function contentOf(document: Document, problems: SourceProblem[]): Json {
  try {
    return document.toJS();
  } catch (error) {
    problems.push({ path: '', line: 1, message: (error as Error).message });
    return undefined;
  }
}

function substitute(node: unknown, schema: Json, path: string, filling: Substitution): void {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      const name = String(isScalar(key) ? key.value : key);
      substitute(value, schemaOf(schema, name), path === '' ? name : `${path}.${name}`, filling);
    }
  } else if (isSeq(node)) {
    for (const [index, item] of node.items.entries())
      substitute(item, schemaOf(schema, index), `${path}[${index}]`, filling);
  } else if (isScalar(node) && typeof node.value === 'string' && node.value.includes('${')) {
    substituteScalar(node as Scalar<unknown>, schema, path, filling);
  }
}

function substituteScalar(node: Scalar<unknown>, schema: Json, path: string, filling: Substitution): void {
  const unset: string[] = [];
  const text = String(node.value).replace(REFERENCE, (reference, name?: string, fallback?: string) => {
    if (reference === '$${') return '${';
    if (name === undefined) {
      filling.report(
        path,
        `has a "\${" that is no reference; write \${NAME} or \${NAME:-default}, or $\${ for the characters`,
      );
      return '';
    }
    const value = filling.environment[name];
    if (fallback !== undefined) return value || fallback;
    if (!value) unset.push(name);
    return value ?? '';
  });
  if (unset.length > 0) filling.missing.set(path, unset);
  node.value = unset.length > 0 ? undefined : coerce(text, schema);
}

/** Converts the text of an environment variable to the type in the schema. */
function coerce(text: string, schema: Json): unknown {
  if (schema?.type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text);
  if (schema?.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

function schemaOf(schema: Json, key: string | number): Json {
  const shape = schema?.anyOf?.find((branch: Json) => branch.items) ?? schema;
  return shape?.properties?.[key] ?? shape?.items ?? Object.values(shape?.patternProperties ?? {})[0];
}

/** Offset of the key or item at `path`, or of its nearest ancestor if there is none. */
function offsetOf(document: Document, path: string): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  let rest = path;
  while (rest !== '') {
    if (isAlias(node)) node = node.resolve(document);
    const step = isMap(node) || isSeq(node) ? stepInto(node, rest) : undefined;
    if (!step) return offset;
    offset = startOf(step.at) ?? offset;
    node = step.node;
    rest = step.rest;
  }
  return offset;
}

/** Keys may contain dots, so the longest key that matches the start of the path wins. */
function stepInto(node: Node, path: string): { node: unknown; at: unknown; rest: string } | undefined {
  if (isSeq(node)) {
    const [whole, index] = /^\[(\d+)\]\.?/.exec(path) ?? [];
    if (whole === undefined) return undefined;
    const item = node.items[Number(index)];
    return { node: item, at: item, rest: path.slice(whole.length) };
  }
  if (!isMap(node)) return undefined;
  const pairs = node.items
    .map(({ key, value }) => ({ key, value, name: String(isScalar(key) ? key.value : key) }))
    .filter(({ name }) => path.startsWith(name) && /^([.[]|$)/.test(path.slice(name.length)))
    .sort((one, other) => other.name.length - one.name.length);
  const pair = pairs[0];
  if (!pair) return undefined;
  return { node: pair.value, at: pair.key, rest: path.slice(pair.name.length).replace(/^\./, '') };
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null)?.range?.[0];
}
