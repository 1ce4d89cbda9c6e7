/** Requests with and without each field of an SDK's types, at any depth. */

import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../src/core/json/json.ts';
import { type Member, SAMPLE, type SdkTypes, type Shape } from './sdk-types.ts';

const MOST_DEPTH = 7;
/** Types may contain themselves: filters, schemas. */
const MOST_NESTED = 2;

/** Values that mean something, by the name of the field, where the types say only that they are texts or objects. */
export type Samples = Record<string, Json[]>;

export interface FieldCase {
  /** e.g. `tools<FunctionTool>.name`: fields, each with the type of its object. */
  path: string;
  value: Json;
  given: Json;
  other: Json;
}

/** Asks once for each body: most cases differ from the same request. */
export function askOnce<Outcome>(ask: (body: Json) => Promise<Outcome>): (body: Json) => Promise<Outcome> {
  const known = new Map<string, Promise<Outcome>>();
  return (body) => {
    const key = JSON.stringify(body);
    const found = known.get(key) ?? ask(body);
    known.set(key, found);
    return found;
  };
}

export class FieldCases {
  readonly #sdk: SdkTypes;
  readonly #samples: Samples;

  constructor(sdk: SdkTypes, samples: Samples) {
    this.#sdk = sdk;
    this.#samples = samples;
  }

  /** Bodies with and without each member of an object, at any depth. `place` puts the object into a body. */
  *of(
    members: readonly Member[],
    {
      path,
      base,
      place,
      around = [],
    }: { path: string; base: Json; place: (object: Json) => Json; around?: readonly string[] },
  ): Generator<FieldCase> {
    for (const { name, type, isOptional } of members) {
      const at = path === '' ? name : `${path}.${name}`;
      const { [name]: given, ...without } = base;
      const values = this.#sdk.valuesOf(type);
      // What tells the alternatives of a union apart.
      const isTag = !isOptional && values.length === 1 && values[0] !== SAMPLE && typeof values[0] === 'string';
      if (isTag) continue;
      const known = this.#samples[name] ?? values.map((value) => this.#withSamples(value));
      for (const value of isOptional ? known : [given]) {
        const other = given === undefined ? without : { ...base, [name]: another(value, values) };
        // An object may have nothing that is required.
        if (given !== undefined && isDeepStrictEqual(other[name], value)) continue;
        yield { path: at, value, given: place({ ...base, [name]: value }), other: place(other) };
      }
      if (around.length >= MOST_DEPTH) continue;
      for (const shape of this.#sdk.shapesOf(type)) {
        if (around.filter((outer) => outer === shape.name).length >= MOST_NESTED) continue;
        yield* this.of(shape.members, {
          path: `${at}<${shape.name}>`,
          base: this.leastOf(shape),
          place: (object) => place({ ...base, [name]: shape.wrap(object) }),
          around: [...around, shape.name],
        });
      }
    }
  }

  /** An object with the members that are required or needed. */
  leastOf(shape: Shape): Json {
    return this.#withSamples(this.#sdk.leastOf(shape));
  }

  #withSamples(value: Json): Json {
    if (Array.isArray(value)) return value.map((item) => this.#withSamples(item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, this.#samples[name]?.[0] ?? this.#withSamples(inner)]),
    );
  }
}

/** Another value of the same type. */
function another(value: Json, values: readonly Json[]): Json {
  if (typeof value === 'number') return value + 1;
  const text = JSON.stringify(value);
  const changed = text.replaceAll(SAMPLE, 'another').replaceAll(/:1\b/g, ':2').replaceAll(/^1$/g, '2');
  if (changed !== text) return JSON.parse(changed);
  if (typeof value === 'boolean') return !value;
  return values.find((one) => JSON.stringify(one) !== text) ?? value;
}

/** The fields of a path alone. */
export function plainPath(path: string): string {
  return path.replaceAll(/<[^>]*>/g, '');
}
