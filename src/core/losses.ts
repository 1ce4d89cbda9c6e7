/** Dropped fields: names of request fields and details that a translation does not carry. */

import type { MediaPart, Part, Turn } from './chat.ts';
import type { Json } from './json/json.ts';
import { MAX_FIELD_CHARACTERS, shortened } from './lengths.ts';

/** Names of the fields of a client's object that are not in `known`. Null and empty lists do not count. */
export function unreadFields(object: Json, known: ReadonlySet<string>, prefix = ''): string[] {
  return Object.entries(object ?? {})
    .filter(([name, value]) => !known.has(name) && !isAbsent(value))
    .map(([name]) => prefix + name);
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

type Detail = 'title' | 'context' | 'cite' | 'detail';
const DETAILS: readonly Detail[] = ['title', 'context', 'cite', 'detail'];

/** Capabilities of a protocol: details of media by kind (`text` means plain-text documents) and names of turns. */
export interface TurnCapabilities {
  protocol: string;
  names: boolean;
  media: Partial<Record<MediaPart['kind'] | 'text', readonly Detail[]>>;
}

/** Hub names of details that the protocol cannot express, also inside tool results. */
export function unsupportedTurnDetails(turns: Turn[], places: TurnCapabilities): string[] {
  const lost = new Set<string>();
  if (!places.names && turns.some((turn) => turn.name !== undefined)) lost.add('turns.name');
  for (const part of turns.flatMap((turn) => turn.parts.flatMap(withInner))) {
    for (const name of unsupportedPartDetails(part, places)) lost.add(`turns.parts.${name}`);
  }
  return [...lost];
}

/** A part, and those of a result. */
export function withInner(part: Part): Part[] {
  return part.type === 'result' ? [part, ...part.parts] : [part];
}

function unsupportedPartDetails(part: Part, { protocol, media }: TurnCapabilities): string[] {
  switch (part.type) {
    case 'native':
      return part.protocol === protocol ? [] : [nameOf(part.value)];
    case 'text':
      return part.citations ? ['citations'] : [];
    case 'media': {
      const kept = media[part.text === undefined ? part.kind : 'text'] ?? [];
      return DETAILS.filter((name) => hasDetail(part, name) && !kept.includes(name));
    }
    case 'reasoning':
    case 'refusal':
    case 'call':
    case 'result':
      return [];
  }
}

function hasDetail(part: MediaPart, name: Detail): boolean {
  return part[name] !== undefined && part[name] !== false && part[name] !== 'auto';
}

/** Name of a native part: its `type`, or its only field. */
function nameOf(value: Json): string {
  const name = value?.type ?? Object.keys(value ?? {}).find((name) => !/^thought/.test(name)) ?? 'native';
  return shortened(String(name), MAX_FIELD_CHARACTERS);
}
