/** `polygate init`: asks three questions and writes a configuration file with comments. */

import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseConfig } from '../config/load.ts';
import { GatewayError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import type { ProviderType } from '../core/provider.ts';
import { providerTypes } from '../providers/index.ts';
import { PRIVATE_FILE } from '../security/file-modes.ts';
import { DATABASE_VARIABLE, type InitAnswers, initialConfig } from './initial-config.ts';

const DEFAULT_FILE = 'polygate.yaml';
const POSTGRES = /^postgres(ql)?:/;

export interface InitOptions {
  config?: string;
  /** Asks nothing. */
  yes?: boolean;
  /** Overwrites the file. */
  force?: boolean;
}

export async function init(options: InitOptions): Promise<void> {
  const file = resolve(options.config ?? DEFAULT_FILE);
  if (existsSync(file) && !options.force) {
    throw new GatewayError('invalid_request', `${file} exists; --force overwrites it.`);
  }
  const types = [...providerTypes.values()].filter(({ builtIn }) => !builtIn).map(withSetVariableFirst);
  const answers = await askAll(types, options.yes === true);
  const text = initialConfig(answers);
  // Variables may still be unset; everything else must be right.
  parseConfig(text, { environment: { [DATABASE_VARIABLE]: 'postgres://localhost/polygate' }, known: providerTypes });
  writeFileSync(file, text, { mode: PRIVATE_FILE });
  const variables = answers.providers.flatMap(({ keyless, environment }) => (keyless ? [] : environment.slice(0, 1)));
  if (answers.database) variables.push(DATABASE_VARIABLE);
  const unset = variables.filter((name) => !isSet(name));
  const advice = unset.length > 0 ? `Set ${unset.join(', ')}, then run` : 'Now run';
  // The default file is found in the working directory.
  const command = options.config === undefined ? 'polygate' : `polygate serve --config ${options.config}`;
  process.stderr.write(`Wrote ${file}.\n${advice}: ${command}\n`);
}

/** Also by a file that `NAME_FILE` names. */
function isSet(name: string): boolean {
  return Boolean(process.env[name] || process.env[`${name}_FILE`]);
}

/** The first variable is the one that is written. */
function withSetVariableFirst(type: ProviderType): ProviderType {
  const { environment } = type;
  return { ...type, environment: environment.toSorted((one, other) => Number(isSet(other)) - Number(isSet(one))) };
}

async function askAll(types: readonly ProviderType[], takesDefaults: boolean): Promise<InitAnswers> {
  const ready = types.filter(({ environment }) => environment.some(isSet));
  const byDefault = { providers: ready, isPublic: false, folder: './data', database: false };
  if (takesDefaults) return byDefault;
  // Closed after the questions: a terminal that is still read keeps the process alive.
  using input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();

  /** Repeats the question until the line is right; the end of the input is an empty line. */
  async function ask<Value>(question: string, read: (line: string) => Value | string): Promise<Value> {
    for (;;) {
      process.stderr.write(`${question} `);
      const { value = '', done } = await lines.next();
      const result = read(value.trim());
      if (typeof result !== 'string') return result;
      if (done) throw new GatewayError('invalid_request', result);
      process.stderr.write(`${result}\n`);
    }
  }

  const names = ready.map(({ id }) => id).join(', ');
  const providers = await ask(`Providers, separated by commas${names ? ` [${names}]` : ''}:`, (line) =>
    line === '' ? ready : readProviders(line, types),
  );
  const { isPublic } = await ask('Who reaches the gateway: 1 this machine, 2 the network? [1]', (line) => {
    if (!['', '1', '2'].includes(line)) return 'Type 1 or 2.';
    return { isPublic: line === '2' };
  });
  const place = await ask('Where are keys, usage and tasks kept: a folder, or postgres? [./data]', (line) => {
    const database = line === 'postgres' || POSTGRES.test(line);
    return { database, folder: database || line === '' ? byDefault.folder : line };
  });
  return { providers, isPublic, ...place };
}

/** The types, or a message about the first name that is none. */
function readProviders(line: string, types: readonly ProviderType[]): ProviderType[] | string {
  const chosen: ProviderType[] = [];
  const ids = types.map(({ id }) => id);
  for (const name of line.split(/[\s,]+/).filter((part) => part !== '')) {
    const type = types.find(({ id }) => id === name.toLowerCase());
    if (!type) {
      const guess = nearest(name, ids);
      return `There is no provider "${name}"${guess ? `; did you mean ${guess}?` : `. There are: ${ids.join(', ')}.`}`;
    }
    if (!chosen.includes(type)) chosen.push(type);
  }
  return chosen;
}
