/** Settings in files of other programs: set in the text, so that comments, order and all other settings stay as they are. */

import { isDeepStrictEqual, parseEnv } from 'node:util';
import { applyEdits, modify, type ParseError, parse as parseJson } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { readYaml } from '../../config/yaml-document.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { setLine, setTomlTable, setTomlValue } from './settings-lines.ts';

export type SettingsFormat = 'json' | 'toml' | 'env' | 'yaml';

export interface Setting {
  path: string[];
  value: Json;
  /** The value is an item of the list at the path, in place of the one that has these members in common with it. */
  identity?: string[];
}

export interface SettingsFile {
  path: string;
  format: SettingsFormat;
  settings: Setting[];
}

interface Format {
  /** Throws if the text is not of the format. */
  read(text: string): Json;
  set(text: string, setting: Setting, before: Json): string;
}

const BYTE_ORDER_MARK = '\uFEFF';
const FORMATS: Record<SettingsFormat, Format> = {
  json: { read: readJson, set: setJson },
  toml: {
    read: (text) => parseToml(text),
    set: (text, { path, value }, before) => (isObject(value) ? setTomlTable : setTomlValue)(text, path, value, before),
  },
  env: {
    read: (text) => parseEnv(text),
    set: (text, { path, value }) => setLine(text, path[0] ?? '', { separator: '=', value: String(value) }),
  },
  yaml: {
    read: readYamlValue,
    set: (text, { path, value }) => setLine(text, path[0] ?? '', { separator: ': ', value: JSON.stringify(value) }),
  },
};

/** The text with the settings; nothing else in it means anything else than before. Throws `invalid_request`. */
export function withSettings(text: string, { path, format, settings }: SettingsFile): string {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  let after = text.slice(mark.length);
  const read = FORMATS[format].read;
  const wanted = readOrExplain(path, () => read(after));
  if (!isObject(wanted)) throw untouched(path, 'it has no named settings');
  for (const setting of settings) {
    const before = plain(wanted);
    setValue(wanted, setting, path);
    if (!isDeepStrictEqual(before, plain(wanted))) after = FORMATS[format].set(after, setting, before);
  }
  if (!means(after, wanted, read)) throw untouched(path, 'it is written in an unusual way');
  return mark + after;
}

/** Name of a setting for people. */
export function settingName({ path }: Setting): string {
  return path.join('.');
}

function setValue(target: Json, { path, value, identity }: Setting, file: string): void {
  let place = target;
  for (const name of path.slice(0, -1)) {
    place[name] ??= {};
    place = place[name];
    if (!isObject(place)) throw untouched(file, `its "${name}" is no object`);
  }
  const last = path.at(-1) as string;
  if (!identity) {
    place[last] = value;
    return;
  }
  place[last] ??= [];
  const list = place[last];
  if (!Array.isArray(list)) throw untouched(file, `its "${last}" is no list`);
  const index = indexOf(list, value, identity);
  if (index < 0) list.unshift(value);
  else list[index] = value;
}

function indexOf(list: Json[], value: Json, identity: string[]): number {
  return list.findIndex((item) => identity.every((name) => item?.[name] === value[name]));
}

function readJson(text: string): Json {
  if (text.trim() === '') return {};
  const errors: ParseError[] = [];
  const value = parseJson(text, errors, { allowTrailingComma: true });
  if (errors.length > 0) throw new Error(`there is an error at character ${errors[0]?.offset}`);
  return value;
}

function readYamlValue(text: string): Json {
  const { value, problem } = readYaml(text);
  if (problem) throw new Error(`line ${problem.line}: ${problem.message}`);
  return value ?? {};
}

function setJson(text: string, { path, value, identity }: Setting, before: Json): string {
  const formattingOptions = indentationOf(text);
  const base = text.trim() === '' ? `{}${formattingOptions.eol}` : text;
  if (!identity) return applyEdits(base, modify(base, path, value, { formattingOptions }));
  const list = path.reduce((place, name) => place?.[name], before);
  if (!Array.isArray(list) || list.length === 0)
    return applyEdits(base, modify(base, path, [value], { formattingOptions }));
  const index = indexOf(list, value, identity);
  const options = { formattingOptions, isArrayInsertion: index < 0 };
  return applyEdits(base, modify(base, [...path, Math.max(index, 0)], value, options));
}

/** The indentation of the first line that has one. */
function indentationOf(text: string): { insertSpaces: boolean; tabSize: number; eol: string } {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const line = text.split('\n').find((each) => each.startsWith(' ') || each.startsWith('\t')) ?? '  ';
  if (line.startsWith('\t')) return { insertSpaces: false, tabSize: 1, eol };
  return { insertSpaces: true, tabSize: line.length - line.trimStart().length || 2, eol };
}

function means(text: string, wanted: Json, read: Format['read']): boolean {
  try {
    return isDeepStrictEqual(plain(read(text)), plain(wanted));
  } catch {
    return false;
  }
}

/** A copy that can be compared: values of some formats have prototypes of their own, or none. */
function plain(value: Json): Json {
  return JSON.parse(JSON.stringify(value));
}

function readOrExplain(path: string, read: () => Json): Json {
  try {
    return read();
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    throw untouched(path, `it cannot be read: ${reason}`);
  }
}

function untouched(path: string, reason: string): GatewayError {
  return new GatewayError('invalid_request', `${path} is left as it is: ${reason}. --print shows the settings.`);
}
