/** Types of an SDK, read from its declarations: the members of its interfaces, and values of its types. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';

type Type =
  | { kind: 'literal'; value: string | number | boolean | null }
  | { kind: 'primitive'; name: string }
  | { kind: 'array'; of: Type }
  | { kind: 'union'; of: Type[] }
  | { kind: 'object'; members: Member[] }
  | { kind: 'name'; name: string; scope: Scope };

export interface Member {
  name: string;
  isOptional: boolean;
  type: Type;
}

interface Declaration {
  members?: Member[];
  parents: Type[];
  type?: Type;
}

/** A file or a namespace in it. */
interface Scope {
  file: string;
  parent?: Scope;
  declarations: Map<string, Declaration>;
  scopes: Map<string, Scope>;
}

const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_$][\w$]*|\d+(?:\.\d+)?|=>|[^\s]/g;
const PRIMITIVES = ['string', 'number', 'boolean', 'unknown', 'any'];
/** A text that stands nowhere else. */
export const SAMPLE = 'sample';

/** An interface that a type may be. */
export interface Shape {
  name: string;
  members: Member[];
  /** A value of the type with such an object. */
  wrap(object: Json): Json;
}

export interface SdkTypes {
  /** Members of an interface with those that it extends. */
  membersOf(name: string): Member[];
  /** The interfaces that a type may be. */
  shapesOf(type: Type | string): Shape[];
  /** Values of a type: each literal of a union, and one value of each other alternative. */
  valuesOf(type: Type): Json[];
  /** An object with the members that are required or needed. */
  leastOf(shape: Pick<Shape, 'name' | 'members'>): Json;
  /**
   * Places of a value that its type does not allow. Members that the type does not have are allowed, and so is the absence of one that
   * may be null: providers leave such members out.
   */
  misfitsOf(type: Type | string, value: Json): string[];
}

/**
 * Reads the declarations of a file, and those that it imports. `needs` are members, by the name of a type, without which
 * its objects mean nothing, though the type has them as optional.
 */
export function readSdkTypes(root: string, needs: Record<string, Json> = {}): SdkTypes {
  const files = new Map<string, Scope>();

  function fileAt(path: string): Scope {
    const known = files.get(path);
    if (known) return known;
    const scope: Scope = { file: path, declarations: new Map(), scopes: new Map() };
    files.set(path, scope);
    const text = readFileSync(path, 'utf8');
    const tokens = [...text.matchAll(TOKEN)].map(([token]) => token).filter((token) => !/^\/[/*]/.test(token));
    new Reader(tokens, (from) => {
      const target = join(dirname(path), from.replace(/\.js$/, '.d.ts'));
      return existsSync(target) ? fileAt(target) : undefined;
    }).readScope(scope);
    return scope;
  }

  const main = fileAt(root);

  function find(name: string, from: Scope): { declaration: Declaration; scope: Scope } {
    const [first = '', ...rest] = name.split('.');
    for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
      if (rest.length === 0) {
        const declaration = scope.declarations.get(first);
        if (declaration) return { declaration, scope };
      } else if (scope.scopes.has(first)) {
        let inner: Scope | undefined = scope.scopes.get(first);
        for (const part of rest.slice(0, -1)) inner = inner?.scopes.get(part);
        const declaration = inner?.declarations.get(rest.at(-1) ?? '');
        if (inner && declaration) return { declaration, scope: inner };
      }
    }
    throw new Error(`no type ${name} in ${from.file}`);
  }

  function membersIn(declaration: Declaration): Member[] {
    const members = new Map<string, Member>();
    for (const parent of declaration.parents)
      for (const shape of shapesOf(parent)) for (const member of shape.members) members.set(member.name, member);
    for (const member of declaration.members ?? []) members.set(member.name, member);
    return [...members.values()];
  }

  function shapesOf(type: Type | string): Shape[] {
    if (typeof type === 'string') return shapesOf({ kind: 'name', name: type, scope: main });
    if (type.kind === 'union') return type.of.flatMap(shapesOf);
    if (type.kind === 'array')
      return shapesOf(type.of).map((shape) => ({ ...shape, wrap: (object) => [shape.wrap(object)] }));
    if (type.kind !== 'name') return [];
    const { declaration } = find(type.name, type.scope);
    if (declaration.members) return [{ name: type.name, members: membersIn(declaration), wrap: (object) => object }];
    return declaration.type ? shapesOf(declaration.type) : [];
  }

  function valuesOf(type: Type): Json[] {
    switch (type.kind) {
      case 'literal':
        return type.value === null ? [] : [type.value];
      case 'primitive':
        return [{ string: SAMPLE, number: 1, boolean: true }[type.name] ?? { [SAMPLE]: SAMPLE }];
      case 'array':
        return valuesOf(type.of).map((value) => [value]);
      case 'union':
        return type.of.flatMap(valuesOf);
      case 'object':
        return [least(type.members)];
      case 'name': {
        const { declaration } = find(type.name, type.scope);
        if (declaration.type) return valuesOf(declaration.type);
        return [leastOf({ name: type.name, members: membersIn(declaration) })];
      }
    }
  }

  function least(members: readonly Member[]): Json {
    const required = members.filter(({ isOptional }) => !isOptional);
    return Object.fromEntries(required.map(({ name, type }) => [name, valuesOf(type)[0] ?? null]));
  }

  function leastOf({ name, members }: Pick<Shape, 'name' | 'members'>): Json {
    return { ...least(members), ...needs[name] };
  }

  function misfitsOf(type: Type | string, value: Json, at = ''): string[] {
    if (typeof type === 'string') return misfitsOf({ kind: 'name', name: type, scope: main }, value, type);
    const wrong = [`${at}: ${value === null || typeof value !== 'object' ? JSON.stringify(value) : typeof value}`];
    switch (type.kind) {
      case 'literal':
        return (value ?? null) === type.value ? [] : wrong;
      case 'primitive':
        return !['string', 'number', 'boolean'].includes(type.name) || typeof value === type.name ? [] : wrong;
      case 'array':
        return Array.isArray(value) ? value.flatMap((item) => misfitsOf(type.of, item, `${at}[]`)) : wrong;
      case 'union':
        return misfitsOfUnion(
          type.of.map((one) => misfitsOf(one, value, at)),
          at,
          wrong,
        );
      case 'object':
        return misfitsIn(type.members, value, at) ?? wrong;
      case 'name': {
        const { declaration } = find(type.name, type.scope);
        if (declaration.type) return misfitsOf(declaration.type, value, at);
        return misfitsIn(membersIn(declaration), value, at) ?? wrong;
      }
    }
  }

  /** Those of the variant that the value names, else of the one with the fewest. */
  function misfitsOfUnion(variants: string[][], at: string, wrong: string[]): string[] {
    if (variants.some((misfits) => misfits.length === 0)) return [];
    const isNamed = (misfits: string[]) => !misfits.some((one) => one === wrong[0] || one.startsWith(`${at}.type:`));
    const named = variants.filter(isNamed);
    return named.sort((one, other) => one.length - other.length)[0] ?? wrong;
  }

  /** Undefined for a value that is no object. */
  function misfitsIn(members: readonly Member[], value: Json, at: string): string[] | undefined {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
    return members.flatMap(({ name, isOptional, type }) => {
      // An index signature.
      if (name === SAMPLE) return Object.entries(value).flatMap(([key, item]) => misfitsOf(type, item, `${at}.${key}`));
      return isOptional && value[name] === undefined ? [] : misfitsOf(type, value[name], `${at}.${name}`);
    });
  }

  return {
    misfitsOf,
    membersOf(name) {
      const [shape] = shapesOf(name);
      assert.ok(shape, name);
      return shape.members;
    },
    shapesOf,
    valuesOf,
    leastOf,
  };
}

class Reader {
  readonly #tokens: string[];
  readonly #open: (path: string) => Scope | undefined;
  #at = 0;

  constructor(tokens: string[], open: (path: string) => Scope | undefined) {
    this.#tokens = tokens;
    this.#open = open;
  }

  /** Declarations up to the end of the file or of the namespace. */
  readScope(scope: Scope): void {
    while (this.#at < this.#tokens.length && this.#peek() !== '}') {
      const token = this.#next();
      if (token === 'export' || token === 'declare') continue;
      if (token === 'import') this.#readImport(scope);
      else if (token === 'interface' || token === 'class') this.#attempt(() => this.#readInterface(scope));
      else if (token === 'enum') this.#readEnum(scope);
      else if (token === 'type' && /^\w+$/.test(this.#peek()) && this.#peek(1) === '=')
        this.#attempt(() => this.#readAlias(scope));
      else if (token === 'namespace') this.#readNamespace(scope);
      else this.#skip(token);
    }
  }

  /** Reads a declaration, or goes past one that is not about data: whatever needs its name then says that there is none. */
  #attempt(read: () => void): void {
    const start = this.#at;
    try {
      read();
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      this.#at = start;
      this.#skip('');
    }
  }

  #readImport(scope: Scope): void {
    const tokens: string[] = [];
    while (this.#peek() !== ';') tokens.push(this.#next());
    this.#next();
    const from = /^['"](.*)['"]$/.exec(tokens.at(-1) ?? '')?.[1];
    const isData = from && /^\.[\w./-]*\.js$/.test(from) && !/\/(core|lib|internal)\//.test(from);
    const file = isData ? this.#open(from) : undefined;
    if (!file) return;
    const star = tokens.indexOf('*');
    if (star >= 0) scope.scopes.set(tokens[star + 2] ?? '', file);
    for (const name of tokens) {
      const declaration = file.declarations.get(name);
      if (declaration) scope.declarations.set(name, declaration);
    }
  }

  #readInterface(scope: Scope): void {
    const name = this.#next();
    const parents: Type[] = [];
    if (this.#peek() === '<') while (this.#next() !== '>');
    if (this.#peek() === 'extends') {
      do {
        this.#next();
        parents.push(this.#readType(scope));
      } while (this.#peek() === ',');
    }
    scope.declarations.set(name, { members: this.#readMembers(scope), parents });
  }

  #readEnum(scope: Scope): void {
    const name = this.#next();
    const of: Type[] = [];
    this.#expect('{');
    while (this.#peek() !== '}') {
      this.#next();
      this.#expect('=');
      of.push(this.#readNamed(scope));
      if (this.#peek() === ',') this.#next();
    }
    this.#expect('}');
    scope.declarations.set(name, { type: { kind: 'union', of }, parents: [] });
  }

  #readAlias(scope: Scope): void {
    const name = this.#next();
    this.#expect('=');
    const type = this.#readType(scope);
    this.#expect(';');
    scope.declarations.set(name, { type, parents: [] });
  }

  #readNamespace(scope: Scope): void {
    const name = this.#next();
    const inner: Scope = { file: scope.file, parent: scope, declarations: new Map(), scopes: new Map() };
    scope.scopes.set(name, inner);
    this.#expect('{');
    this.readScope(inner);
    this.#expect('}');
  }

  #readMembers(scope: Scope): Member[] {
    const members: Member[] = [];
    this.#expect('{');
    while (this.#peek() !== '}') {
      if (this.#peek() === 'readonly') this.#next();
      const token = this.#next();
      const isMethod =
        '(<'.includes(this.#peek()) || (/^(get|static|private)$/.test(token) && /^[\w#]/.test(this.#peek()));
      if (isMethod) this.#skipMethod();
      else if (token === '[') {
        while (this.#next() !== ']');
        this.#expect(':');
        members.push({ name: SAMPLE, isOptional: false, type: this.#readType(scope) });
      } else {
        const isOptional = this.#peek() === '?';
        if (isOptional) this.#next();
        this.#expect(':');
        members.push({ name: token.replace(/^'|'$/g, ''), isOptional, type: this.#readType(scope) });
      }
      if (this.#peek() === ';') this.#next();
    }
    this.#expect('}');
    return members;
  }

  #skipMethod(): void {
    for (let depth = 0; this.#at < this.#tokens.length; ) {
      const token = this.#next();
      if ('{(['.includes(token)) depth += 1;
      if ('})]'.includes(token)) depth -= 1;
      if (token === ';' && depth === 0) return;
    }
  }

  #readType(scope: Scope): Type {
    if (this.#peek() === '|') this.#next();
    const of = [this.#readSingle(scope)];
    while (this.#peek() === '|' || this.#peek() === '&') {
      this.#next();
      const type = this.#readSingle(scope);
      // `string & {}` is any string.
      if (type.kind !== 'object' || type.members.length > 0) of.push(type);
    }
    return of.length === 1 && of[0] ? of[0] : { kind: 'union', of };
  }

  #readSingle(scope: Scope): Type {
    if (this.#peek() === 'readonly') this.#next();
    const token = this.#peek();
    let type: Type;
    if (token === '{') type = { kind: 'object', members: this.#readMembers(scope) };
    else if (token === '(') {
      this.#next();
      type = this.#readType(scope);
      this.#expect(')');
    } else type = this.#readNamed(scope);
    while (this.#peek() === '[' && this.#peek(1) === ']') {
      this.#at += 2;
      type = { kind: 'array', of: type };
    }
    return type;
  }

  #readNamed(scope: Scope): Type {
    const token = this.#next();
    if (/^['"]/.test(token)) return { kind: 'literal', value: token.slice(1, -1) };
    if (/^\d/.test(token)) return { kind: 'literal', value: Number(token) };
    if (token === 'null' || token === 'undefined') return { kind: 'literal', value: null };
    if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' };
    if (PRIMITIVES.includes(token)) return { kind: 'primitive', name: token };
    let name = token;
    while (this.#peek() === '.') {
      this.#next();
      name += `.${this.#next()}`;
    }
    if (this.#peek() !== '<') return { kind: 'name', name, scope };
    const given: Type[] = [];
    do {
      this.#next();
      given.push(this.#readType(scope));
    } while (this.#peek() === ',');
    this.#expect('>');
    const [first, second] = given;
    if (name === 'Array' && first) return { kind: 'array', of: first };
    if (name === 'Record' && second)
      return { kind: 'object', members: [{ name: SAMPLE, isOptional: false, type: second }] };
    if ((name === 'Partial' || name === 'Omit') && first) return first;
    return { kind: 'primitive', name: 'unknown' };
  }

  /** Past a declaration that is not about data. */
  #skip(first: string): void {
    let depth = first === '{' ? 1 : 0;
    while (this.#at < this.#tokens.length) {
      if (depth === 0 && (this.#tokens[this.#at - 1] === ';' || this.#tokens[this.#at - 1] === '}')) return;
      const token = this.#next();
      if (token === '{') depth += 1;
      if (token === '}') depth -= 1;
    }
  }

  #peek(ahead = 0): string {
    return this.#tokens[this.#at + ahead] ?? '';
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  #expect(token: string): void {
    assert.equal(this.#next(), token, this.#tokens.slice(Math.max(0, this.#at - 12), this.#at + 5).join(' '));
  }
}
