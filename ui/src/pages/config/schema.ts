/** Description of a setting by the schema of the configuration. Loaded when a setting is opened: the schema is long. */

import text from '../../../../config.schema.json?raw';

/** The parts of JSON Schema that the configuration uses. */
export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  /** Value of the pattern, in words. */
  errorMessage?: string;
  pattern?: string;
  properties?: Record<string, SchemaNode>;
  patternProperties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  required?: string[];
}

export interface DescribedSetting {
  node: SchemaNode;
  /** Names and indexes from the root. */
  path: (string | number)[];
  /** Of the sections around it, from the outermost. */
  sections: { name: string; description: string }[];
}

export const ROOT = JSON.parse(text) as SchemaNode;

/** By a path such as `keys[0].name`; undefined for one that the schema does not know. */
export function describeSetting(path: string): DescribedSetting | undefined {
  return find(ROOT, path, { path: [], sections: [] });
}

type Way = Pick<DescribedSetting, 'path' | 'sections'>;

/** Names of models have dots too, so each end of a name is tried. */
function find(node: SchemaNode, rest: string, way: Way): DescribedSetting | undefined {
  if (rest === '') return { node, ...way };
  const [, index, behind = ''] = /^\[(\d+)\]\.?(.*)$/s.exec(rest) ?? [];
  if (index !== undefined) {
    return node.items && find(node.items, behind, { ...way, path: [...way.path, Number(index)] });
  }
  for (const name of namesOf(rest)) {
    const child = node.properties?.[name] ?? patternOf(node, name);
    const found = child && find(child, rest.slice(name.length).replace(/^\./, ''), wayTo(name, child, way));
    if (found) return found;
  }
  for (const one of node.anyOf ?? []) {
    const found = find(one, rest, way);
    if (found) return found;
  }
  return undefined;
}

function namesOf(rest: string): string[] {
  const ends = [...rest.matchAll(/[.[]/g)].map(({ index }) => index).filter((index) => index > 0);
  return [...ends, rest.length].map((end) => rest.slice(0, end));
}

function patternOf({ patternProperties = {} }: SchemaNode, name: string): SchemaNode | undefined {
  return Object.entries(patternProperties).find(([pattern]) => new RegExp(pattern).test(name))?.[1];
}

function wayTo(name: string, { description }: SchemaNode, { path, sections }: Way): Way {
  const next = [...path, name];
  return { path: next, sections: description === undefined ? sections : [...sections, { name, description }] };
}

export function typeOf({ type, anyOf, items, enum: values }: SchemaNode): string {
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array') return items ? `list of ${typeOf(items)}` : 'list';
  return type ?? (values ? 'string' : 'anything');
}

/** The values that are allowed, where there are few. */
export function choicesOf({ enum: values, const: only, anyOf, type }: SchemaNode): unknown[] {
  if (type === 'boolean') return [true, false];
  if (only !== undefined) return [only];
  return values ?? anyOf?.flatMap(choicesOf) ?? [];
}

/** Describes in words what a value must be like. */
export function limitsOf(node: SchemaNode): string[] {
  const { minimum, exclusiveMinimum, maximum, errorMessage, maxLength, items, anyOf } = node;
  const least = minimum === undefined ? exclusiveMinimum : minimum;
  return [
    ...(least === undefined ? [] : [`${minimum === undefined ? 'above' : 'at least'} ${least}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(errorMessage === undefined ? [] : [errorMessage.replace(/^must be /, '')]),
    ...(items ? limitsOf(items).map((limit) => `each ${limit}`) : []),
    ...(anyOf ?? []).flatMap(limitsOf),
  ];
}

/** Whether a change can be written without the rest of the file: of an item of a list it cannot. */
export function isProposable({ path, node }: DescribedSetting): boolean {
  return path.every((part) => typeof part === 'string') && typeOf(node) !== 'object';
}

/** Lines of YAML that set it. */
export function yamlOf({ path, node }: DescribedSetting, typed: string): string {
  const lines = path.map((part, depth) => `${'  '.repeat(depth)}${keyOf(String(part))}:`);
  return `${lines.join('\n')} ${writtenValue(node, typed)}`;
}

function keyOf(name: string): string {
  return /^[A-Za-z][\w-]*$/.test(name) ? name : JSON.stringify(name);
}

function writtenValue(node: SchemaNode, typed: string): string {
  const type = typeOf(node);
  if (type.startsWith('list of')) {
    const parts = typed.split(',').map((part) => part.trim());
    return `[${parts
      .filter((part) => part !== '')
      .map((part) => scalarOf(node.items ?? {}, part))
      .join(', ')}]`;
  }
  return scalarOf(node, typed.trim());
}

/** Texts that YAML would read as something else are quoted. */
function scalarOf(node: SchemaNode, typed: string): string {
  const type = typeOf(node);
  if (/integer|number/.test(type) && /^-?\d+(\.\d+)?$/.test(typed)) return typed;
  if (type.includes('boolean') && /^(true|false)$/.test(typed)) return typed;
  const isPlain = /^[A-Za-z][\w./-]*$/.test(typed) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(typed);
  return isPlain ? typed : JSON.stringify(typed);
}
