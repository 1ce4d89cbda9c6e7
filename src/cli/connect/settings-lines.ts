/** Settings of TOML, YAML and variable files that stand in lines of their own: replaced where they are, else added. */

import { isObject, type Json } from '../../core/json/json.ts';

interface Line {
  start: number;
  /** Index of the end, without the line break. */
  end: number;
  text: string;
}

/** Sets a line `name<separator>value` that starts with its name, or with `export` before it. */
export function setLine(
  text: string,
  name: string,
  { separator, value }: { separator: string; value: string },
): string {
  const mark = separator.trim();
  const line = linesOf(text).find((each) => each.text.replace(/^export /, '').startsWith(`${name}${mark}`));
  const written = `${name}${separator}${value}`;
  return line
    ? text.slice(0, line.start) + written + text.slice(line.end)
    : `${endedText(text)}${written}${eolOf(text)}`;
}

/** Sets a string before the first table; the rest of its line, such as a comment, stays. */
export function setTomlValue(text: string, [name = '']: string[], value: Json): string {
  for (const line of linesOf(text)) {
    if (isHeader(line)) break;
    const [key = '', ...rest] = line.text.split('=');
    if (key.trim() !== name) continue;
    const old = rest.join('=').trim();
    const end = old.startsWith('"') || old.startsWith("'") ? old.indexOf(old.charAt(0), 1) + 1 : 0;
    return `${text.slice(0, line.start)}${name} = ${JSON.stringify(value)}${old.slice(end)}${text.slice(line.end)}`;
  }
  return `${name} = ${JSON.stringify(value)}${eolOf(text)}${text}`;
}

/** Sets a table of strings, in place of the one with its name. */
export function setTomlTable(text: string, path: string[], value: Json, before: Json): string {
  const eol = eolOf(text);
  const name = `[${path.join('.')}]`;
  const members = Object.entries(value).map(([key, member]) => `${key} = ${JSON.stringify(member)}`);
  const table = [name, ...members].join(eol);
  if (!isObject(path.reduce((place, key) => place?.[key], before))) {
    const gap = text.trim() === '' ? '' : eol;
    return `${endedText(text)}${gap}${table}${eol}`;
  }
  const lines = linesOf(text);
  const first = lines.findIndex((line) => isHeader(line) && line.text.replaceAll(' ', '') === name);
  if (first < 0) return text;
  let last = first;
  // The lines up to the next table that are not blank.
  for (let index = first + 1; index < lines.length && !isHeader(lines[index] as Line); index++)
    if (lines[index]?.text.trim() !== '') last = index;
  return text.slice(0, lines[first]?.start) + table + text.slice(lines[last]?.end);
}

function isHeader({ text }: Line): boolean {
  return text.trimStart().startsWith('[');
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const next = found < 0 ? text.length : found + 1;
    const raw = text.slice(start, found < 0 ? next : found);
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    lines.push({ start, end: start + line.length, text: line });
    start = next;
  }
  return lines;
}

function endedText(text: string): string {
  return text === '' || text.endsWith('\n') ? text : text + eolOf(text);
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}
