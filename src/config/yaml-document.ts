/** A YAML document: its value, and the line of each of its fields. */

import {
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  mergeTag,
  parseEvents,
  YAMLException,
} from 'js-yaml';
import { isObject, type Json } from '../core/json/json.ts';

export interface YamlDocument {
  /** Undefined for an empty document, and if there is a problem. */
  value: Json;
  /** Reason for which it is no valid document; `line` starts at 1. The message has no part of the text. */
  problem?: { line: number; message: string };
  /** Line of the key or item at a path as in `keys[0].name`, or of its nearest ancestor if there is none. */
  lineOf(path: string): number;
}

const SCHEMA = CORE_SCHEMA.withTags(mergeTag);
/** Merged keys and values of a document with its aliases written out; more are taken for an attack. */
const MAX_EXPANDED_VALUES = 1_000_000;
const MAX_EXPANDED_DEPTH = 200;

export function readYaml(text: string): YamlDocument {
  let events: Event[] = [];
  let locations: Location | undefined;
  let lineStarts: number[] | undefined;
  const lineOf = (path: string) => {
    locations ??= locate(events, text);
    lineStarts ??= lineStartsOf(text);
    return lineAt(lineStarts, offsetOf(locations, path));
  };
  try {
    events = parseEvents(text, {});
    const documents = constructFromEvents(events, {
      source: text,
      schema: SCHEMA,
      maxTotalMergeKeys: MAX_EXPANDED_VALUES,
    });
    const [value, ...others] = documents;
    if (others.length > 0) return { value: undefined, problem: { line: 1, message: 'must be one document' }, lineOf };
    const limit = Math.max(MAX_EXPANDED_VALUES, text.length);
    if (events.some(({ type }) => type === EVENT_ID.ALIAS) && expandedSize(value, limit, new Map(), 0) > limit) {
      return { value: undefined, problem: { line: 1, message: 'has aliases that stand for too many values' }, lineOf };
    }
    return { value, lineOf };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return { value: undefined, problem: { line: (error.mark?.line ?? 0) + 1, message: error.reason }, lineOf };
  }
}

/** Number of values with all aliases written out; infinite for one that contains itself. */
function expandedSize(value: Json, limit: number, known: Map<object, number>, depth: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  const before = known.get(value);
  if (before !== undefined) return before;
  if (depth > MAX_EXPANDED_DEPTH) return Number.POSITIVE_INFINITY;
  known.set(value, Number.POSITIVE_INFINITY);
  let size = 1;
  for (const inner of isObject(value) ? Object.values(value) : value) {
    size += expandedSize(inner, limit, known, depth + 1);
    if (size > limit) return Number.POSITIVE_INFINITY;
  }
  known.set(value, size);
  return size;
}

/** Place of a value, and the places of its members. */
interface Location {
  offset: number;
  /** Locations of members by key or index. */
  members?: Map<string, Location>;
}

/** Locations of the values of the first document. */
function locate(events: readonly Event[], text: string): Location {
  const anchors = new Map<string, Location>();
  let next = 0;

  function take(): Location {
    const event = events[next++];
    if (event?.type === EVENT_ID.SCALAR) return anchored(event, { offset: event.valueStart });
    if (event?.type === EVENT_ID.ALIAS) {
      const { members } = anchors.get(text.slice(event.anchorStart, event.anchorEnd)) ?? {};
      return { offset: event.anchorStart, ...(members && { members }) };
    }
    if (event?.type !== EVENT_ID.MAPPING && event?.type !== EVENT_ID.SEQUENCE) return { offset: 0 };
    const members = new Map<string, Location>();
    const location = anchored(event, { offset: event.start, members });
    while (next < events.length && events[next]?.type !== EVENT_ID.POP) {
      if (event.type === EVENT_ID.SEQUENCE) members.set(String(members.size), take());
      else takeMember(members);
    }
    next += 1;
    return location;
  }

  /** The place of a member of a mapping is that of its key. */
  function takeMember(members: Map<string, Location>): void {
    const key = events[next];
    const { offset } = take();
    const value = take();
    if (key?.type === EVENT_ID.SCALAR) members.set(getScalarValue(text, key), { ...value, offset });
  }

  function anchored({ anchorStart, anchorEnd }: { anchorStart: number; anchorEnd: number }, location: Location) {
    if (anchorStart >= 0) anchors.set(text.slice(anchorStart, anchorEnd), location);
    return location;
  }

  while (next < events.length && events[next]?.type === EVENT_ID.DOCUMENT) next += 1;
  return take();
}

function offsetOf(root: Location, path: string): number {
  let location = root;
  let rest = path;
  while (rest !== '') {
    const step = stepInto(location, rest);
    if (!step) break;
    location = step.location.offset < 0 ? { ...step.location, offset: location.offset } : step.location;
    rest = step.rest;
  }
  return Math.max(0, location.offset);
}

const INDEX = /^\[(\d+)\]/;

/** Keys may contain dots, so the longest key that matches the start of the path wins. */
function stepInto({ members }: Location, path: string): { location: Location; rest: string } | undefined {
  if (!members) return undefined;
  const [brackets, index] = INDEX.exec(path) ?? [];
  if (brackets !== undefined) {
    const location = members.get(index as string);
    if (location) return { location, rest: path.slice(brackets.length).replace(/^\./, '') };
  }
  for (let end = path.length; end > 0; end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1))) {
    const location = members.get(path.slice(0, end));
    if (location) return { location, rest: path.slice(end).replace(/^\./, '') };
  }
  return undefined;
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Number of line starts at or before an offset. */
function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] as number) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
