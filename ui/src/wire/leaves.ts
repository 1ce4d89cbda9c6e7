/** Leaves of a body: its values with their places, in the order of the text, and no more than a page can show. */

export interface Leaf {
  /** Such as `messages[0].content`. */
  path: string;
  /** Path of what it is in. */
  parent: string;
  /** Last member name of the path. */
  name: string;
  /** A scalar, or an empty object or array. */
  value: unknown;
}

export interface Leaves {
  leaves: Leaf[];
  /** Leaves that were left out. */
  omitted: number;
}

export const MAX_LEAVES = 1500;
const MAX_DEPTH = 60;
/** Of text inside a value that is JSON itself. */
const MAX_INNER_CHARACTERS = 64 * 1024;
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/;
const MODEL_IN_URL = /\/models\/([^/:?]+(?:\/[^/:?]+)*?)(?::|\/invoke|\/converse|$)/;

/** Leaves of a body, and what its address says in place of a member. */
export function leavesOf(body: unknown, url?: string | null): Leaves {
  const found: Leaves = { leaves: [], omitted: 0 };
  const model = url ? MODEL_IN_URL.exec(decoded(url)) : null;
  if (model?.[1]) add(found, { path: 'address.model', parent: 'address', name: 'model', value: model[1] });
  if (url?.includes(':stream')) add(found, { path: 'address.stream', parent: 'address', name: 'stream', value: true });
  collect(found, body, { path: '', parent: '', name: '' }, 0);
  return found;
}

type Place = Omit<Leaf, 'value'>;

function collect(found: Leaves, value: unknown, place: Place, depth: number): void {
  if (Array.isArray(value) && value.length > 0 && depth < MAX_DEPTH) {
    for (const [index, one] of value.entries()) {
      collect(found, one, { path: `${place.path}[${index}]`, parent: place.path, name: place.name }, depth + 1);
    }
  } else if (isFilled(value) && depth < MAX_DEPTH) {
    for (const [name, one] of Object.entries(value)) {
      const path = place.path === '' ? name : `${place.path}.${name}`;
      collect(found, one, { path, parent: place.path, name }, depth + 1);
    }
  } else if (typeof value === 'string') collectText(found, value, place, depth);
  else add(found, { ...place, value });
}

/** Text that is JSON, as the arguments of tools are, and data URLs have parts of their own. */
function collectText(found: Leaves, value: string, place: Place, depth: number): void {
  const inner = innerJson(value);
  const url = DATA_URL.exec(value.slice(0, 200));
  if (inner !== undefined && depth < MAX_DEPTH) {
    collect(found, inner, { ...place, path: `${place.path} (JSON)`, parent: place.path }, depth + 1);
  } else if (url?.[1]) {
    const part = (name: string, text: string) =>
      add(found, { path: `${place.path} (${name})`, parent: place.path, name: place.name, value: text });
    part('type', url[1]);
    part('data', value.slice(url[0].length));
  } else add(found, { ...place, value });
}

function innerJson(text: string): object | undefined {
  if (!/^\s*[{[]/.test(text) || text.length > MAX_INNER_CHARACTERS) return undefined;
  try {
    const value = JSON.parse(text);
    return isFilled(value) || (Array.isArray(value) && value.length > 0) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFilled(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function add(found: Leaves, leaf: Leaf): void {
  if (found.leaves.length < MAX_LEAVES) found.leaves.push(leaf);
  else found.omitted += 1;
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
