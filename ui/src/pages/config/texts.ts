/** Settings in words. */

import type { Setting, Value } from './query.ts';

export function textOf(value: Value): string {
  if (value === null) return '—';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : value.join(', ');
  return String(value);
}

export function originOf(source: Setting['source']): string {
  if (source.from === 'file') return `file, line ${source.line}`;
  if (source.from !== 'environment') return source.from;
  return `environment, ${source.variables.join(' and ')}${source.line === undefined ? '' : ` (line ${source.line})`}`;
}
