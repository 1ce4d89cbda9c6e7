/** Tags of keys: bounded names with one value each, and their text on usage records. */

/** At most one value for each name. */
export type Tags = Record<string, string>;

export const MAX_TAGS = 16;
export const MAX_METADATA = 16;
export const MAX_METADATA_VALUE = 512;
export const MAX_OWNER = 200;
export const MAX_KEY_NAME = 100;
/** Spaces alone would look like no name, and a terminal would obey control characters. */
export const KEY_NAME = /^[^\S\p{Cc}]*[^\s\p{Cc}]\P{Cc}*$/u;
export const KEY_NAME_RULE = `must have 1 to ${MAX_KEY_NAME} characters and no control characters, and not be spaces alone`;

const TAG_NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const TAG_VALUE = /^[A-Za-z0-9][A-Za-z0-9._@:-]{0,63}$/;
const METADATA_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

const NAME_RULE = 'must be named with at most 32 lower-case letters, digits, _ and -, a letter first';
const VALUE_RULE = 'must be at most 64 letters, digits and . _ @ : -, a letter or digit first';
const METADATA_RULE = 'must be named with at most 64 letters, digits, . _ and -, a letter first';

/** Problem of tags or metadata; null in a patch removes one. */
export interface LabelProblem {
  path: string;
  message: string;
}

export function tagProblems(tags: Record<string, string | null> | null | undefined): LabelProblem[] {
  return Object.entries(tags ?? {}).flatMap(([name, value]) => {
    if (!TAG_NAME.test(name)) return [{ path: `tags.${name.slice(0, 64)}`, message: NAME_RULE }];
    return value === null || TAG_VALUE.test(value) ? [] : [{ path: `tags.${name}`, message: VALUE_RULE }];
  });
}

export function metadataProblems(metadata: Record<string, string | null> | null | undefined): LabelProblem[] {
  return Object.entries(metadata ?? {}).flatMap(([name, value]) => {
    if (!METADATA_NAME.test(name)) return [{ path: `metadata.${name.slice(0, 64)}`, message: METADATA_RULE }];
    if ((value ?? '').length <= MAX_METADATA_VALUE) return [];
    return [{ path: `metadata.${name}`, message: `must have at most ${MAX_METADATA_VALUE} characters` }];
  });
}

/** Name and value of `name=value`; undefined for another text. */
export function parseTag(text: string): [name: string, value: string] | undefined {
  const [name = '', value = '', ...more] = text.split('=');
  return more.length === 0 && TAG_NAME.test(name) && TAG_VALUE.test(value) ? [name, value] : undefined;
}

/** Tags as `name=value`, in the order of their names. */
export function tagList(tags: Tags | undefined): string[] {
  const list: string[] = [];
  for (const name in tags) if (Object.hasOwn(tags, name)) list.push(`${name}=${tags[name]}`);
  return list.sort();
}

/** Tags as on a usage record: separated by spaces, empty without any. */
export function tagText(tags: Tags | undefined): string {
  return tags === undefined ? '' : tagList(tags).join(' ');
}

/** Tags of a text on a usage record. */
export function tagsOf(text: string): Tags {
  return Object.fromEntries(text.split(' ').flatMap((tag) => (tag === '' ? [] : [tag.split('=', 2)])));
}

/** Whether a text can be the name of a tag, without its value. */
export function isTagName(text: string): boolean {
  return TAG_NAME.test(text);
}

/** Prefix of subjects of limits and budgets that are tags; ids of keys never begin with it. */
const TAG_SUBJECT = 'tag:';

/** Subject of the limits and budgets of a tag, `name=value`. */
export function tagSubject(tag: string): string {
  return TAG_SUBJECT + tag;
}

/** The tag of a subject; undefined for that of a key. */
export function tagOfSubject(subject: string): string | undefined {
  return subject.startsWith(TAG_SUBJECT) ? subject.slice(TAG_SUBJECT.length) : undefined;
}
