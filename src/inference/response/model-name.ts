/** Members of an upstream's response that the gateway looks for, and its name for the model in place of the upstream's. */

import type { Span } from '../../core/json/json.ts';
import {
  type Edit,
  everySpanAt,
  firstSpanAt,
  type MemberWatch,
  SoughtMembers,
  spliceAll,
} from '../../core/json/spans.ts';
import type { Operation } from '../../core/operation.ts';
import type { Output } from './converter.ts';
import { createMarkSearch, type FrameText, type MarkSearch } from './mark-search.ts';
import type { OutputRun } from './output-run.ts';

/** Start of an escaped letter of a member name; all letters have codes below 256. */
const ESCAPED_LETTER = '\\u00';

/** Members that are searched in whole responses of an operation: the model name, the usage that gets its cost, and provider state. */
export function soughtMembers(operation: Operation): SoughtMembers {
  const known = soughtByOperation.get(operation);
  if (known) return known;
  const { modelPaths, cost, state } = operation;
  const sought = new SoughtMembers([...modelPaths, ...(cost?.paths ?? [])], state?.fields);
  soughtByOperation.set(operation, sought);
  return sought;
}

const soughtByOperation = new WeakMap<Operation, SoughtMembers>();

/** Edits that set the model name at every path of the protocol in a scanned response, repeated members included. */
export function modelNames(
  bytes: Buffer,
  members: MemberWatch,
  { operation: { modelPaths }, model }: { operation: Pick<Operation, 'modelPaths'>; model: string },
): Edit[] {
  const spans = members.spansAt(bytes, modelPaths);
  if (spans.length === 0) return [];
  const text = Buffer.from(JSON.stringify(model));
  return spans.map(({ start, end }) => ({ start, end, text }));
}

/** A whole body that was not scanned, with the model name at every path of the protocol. */
export function nameModel(bytes: Buffer, { modelPaths }: Pick<Operation, 'modelPaths'>, model: string): Buffer {
  return spliceAll(bytes, everySpanAt(bytes, modelPaths), JSON.stringify(model));
}

/** Searches by the model paths of an operation, which never change. */
const nameSearches = new WeakMap<Operation['modelPaths'], MarkSearch>();

/** Finds the place of a possible model name, or of an escaped letter of it. */
function searchOfName(paths: Operation['modelPaths']): MarkSearch {
  const known = nameSearches.get(paths);
  if (known) return known;
  const search = createMarkSearch([...paths.map((path) => JSON.stringify(path.at(-1) ?? '')), ESCAPED_LETTER]);
  nameSearches.set(paths, search);
  return search;
}

/** The spans of the name in JSON without escaped letters, which is read up to the first one unless it may be repeated. */
function spansUpToLast(json: Buffer, paths: Operation['modelPaths'], mayHoldName: MarkSearch): Span[] {
  const first = firstSpanAt(json, paths);
  return first && !mayHoldName(json, first.end) ? [first] : everySpanAt(json, paths);
}

/**
 * Replaces the model name in the frames of one stream, whose JSON begins at `brace`. Most streams repeat all bytes up to the
 * name, so a frame with the same prefix as the previous one has the name at the same position.
 */
export class FrameRenamer {
  readonly #paths: Operation['modelPaths'];
  /** Its JSON, and the same as Latin-1. */
  readonly #name: string;
  readonly #nameBytes: string;
  readonly #mayHoldName: MarkSearch;
  /** The bytes up to the end of the name in the previous frame, as Latin-1; a copy, because a slice would keep its chunk. */
  #known = '';
  /** Start of the name in these. */
  #nameStart = 0;

  constructor({ modelPaths }: Pick<Operation, 'modelPaths'>, model: string) {
    this.#paths = modelPaths;
    this.#name = JSON.stringify(model);
    this.#nameBytes = Buffer.from(this.#name).toString('latin1');
    this.#mayHoldName = searchOfName(modelPaths);
  }

  rename(frame: Buffer, { brace, text, out, run }: Renamed): void {
    const known = this.#known;
    if (known.length > 0 && startsWith(text, known) && !this.#mayHoldName(text, known.length)) {
      this.#replace(text, out, run);
      return;
    }
    if (!this.#mayHoldName(text, brace)) {
      run.add(out, text);
      return;
    }
    const json = frame.subarray(brace);
    const spans = this.#spansIn(json, text);
    const [span] = spans;
    if (!span) run.add(out, text);
    else if (spans.length > 1) {
      run.add(out, frame, 0, brace);
      run.put(out, spliceAll(json, spans, this.#name));
    } else {
      this.#known = frame.toString('latin1', 0, brace + span.end);
      this.#nameStart = brace + span.start;
      this.#replace(text, out, run);
    }
  }

  /** A large frame is read up to the name, unless the name may be repeated after it. */
  #spansIn(json: Buffer, text: FrameText): Span[] {
    const isLarge = typeof text !== 'string' && !text.includes(ESCAPED_LETTER);
    return isLarge ? spansUpToLast(json, this.#paths, this.#mayHoldName) : everySpanAt(json, this.#paths);
  }

  #replace(frame: FrameText, out: Output[], run: OutputRun): void {
    run.add(out, frame, 0, this.#nameStart);
    run.add(out, this.#nameBytes);
    run.add(out, frame, this.#known.length);
  }
}

export interface Renamed {
  /** Offset of the JSON in the frame. */
  brace: number;
  text: FrameText;
  out: Output[];
  run: OutputRun;
}

function startsWith(text: FrameText, known: string): boolean {
  if (typeof text === 'string') return text.startsWith(known);
  return text.toString('latin1', 0, known.length) === known;
}
