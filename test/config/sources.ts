/** Configurations for tests: a few known providers and whatever text and environment a test wants. */

import assert from 'node:assert/strict';
import type { Environment } from '../../src/config/environment.ts';
import { type ConfigSource, parseConfig } from '../../src/config/load.ts';
import type { KnownProvider } from '../../src/config/providers.ts';
import type { Config } from '../../src/config/resolved.ts';
import { GatewayError } from '../../src/core/errors.ts';

const types: KnownProvider[] = [
  {
    id: 'openai',
    environment: ['OPENAI_API_KEY'],
    keyless: false,
    baseUrl: 'https://openai.test/v1',
    protocols: ['chat', 'responses'],
  },
  {
    id: 'google',
    environment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    keyless: false,
    baseUrl: 'https://google.test',
    protocols: ['generate'],
  },
  {
    id: 'ollama',
    environment: [],
    keyless: true,
    baseUrl: 'http://localhost:11434/v1',
    protocols: ['chat', 'responses'],
  },
  { id: 'openai-compatible', environment: [], keyless: true, protocols: ['chat', 'responses'], choosesProtocols: true },
  { id: 'sandbox', environment: [], keyless: true, builtIn: true, protocols: ['chat'] },
];

export const FILE = '/etc/polygate.yaml';

export function sourceWith(environment: Environment = {}): ConfigSource {
  return { file: FILE, environment, known: new Map(types.map((type) => [type.id, type])) };
}

export function configOf(text: string, environment?: Environment): Config {
  return parseConfig(text, sourceWith(environment));
}

/** The lines of the refusal, without the file's name: `line: path: message`. */
export function faultsOf(text: string, environment?: Environment): string[] {
  try {
    configOf(text, environment);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.message.split('\n').map((line) => {
      assert.ok(line.startsWith(`${FILE}:`), line);
      return line.slice(FILE.length + 1);
    });
  }
  assert.fail('the configuration was accepted');
}
