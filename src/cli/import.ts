/** `polygate import`: writes a configuration from that of another gateway, and lists the settings that have no equal. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dump } from 'js-yaml';
import { parseConfig } from '../config/load.ts';
import { readYaml } from '../config/yaml-document.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { providerTypes } from '../providers/index.ts';
import { PRIVATE_FILE } from '../security/file-modes.ts';
import { importLiteLlm } from './import-litellm.ts';
import { importOpenRouter } from './import-openrouter.ts';
import { importPortkey } from './import-portkey.ts';
import type { ImportedSettings } from './imported-settings.ts';

export interface ImportOptions {
  output?: string;
  force?: boolean;
}

interface ImportSource {
  title: string;
  read(files: Json[]): ImportedSettings;
}

const SOURCES = {
  litellm: { title: 'a configuration of LiteLLM', read: ([file]) => importLiteLlm(file) },
  portkey: { title: 'configs of Portkey', read: importPortkey },
  openrouter: { title: 'settings of OpenRouter', read: importOpenRouter },
} satisfies Record<string, ImportSource>;

export async function importSettings(
  source: keyof typeof SOURCES,
  files: string[],
  { output, force = false }: ImportOptions,
): Promise<void> {
  if (output !== undefined && existsSync(output) && !force) {
    throw new GatewayError('invalid_request', `${output} exists; --force overwrites it.`);
  }
  const { title, read }: ImportSource = SOURCES[source];
  const { config, notes } = read(files.map(readFile));
  const text = `# Imported from ${title}. "polygate check" shows all fields.\n${dump(config, { lineWidth: -1, noRefs: true })}`;
  parseConfig(text, { environment: setVariables(text), known: providerTypes });
  if (output === undefined) process.stdout.write(text);
  else {
    writeFileSync(output, text, { mode: PRIVATE_FILE });
    process.stderr.write(`Wrote ${output}. Check it: polygate check --config ${output}\n`);
  }
  for (const { path, advice } of notes) process.stderr.write(`not taken over: ${path}: ${advice}\n`);
}

/** JSON is YAML. */
function readFile(file: string): Json {
  if (!existsSync(file)) throw new GatewayError('invalid_request', `There is no file ${file}.`);
  const { value, problem } = readYaml(readFileSync(file, 'utf8'));
  if (problem) throw new GatewayError('invalid_request', `${file}:${problem.line}: ${problem.message}`);
  return value;
}

/** The check of the text wants a value of each variable that it names. */
function setVariables(text: string): Record<string, string> {
  const names = [...text.matchAll(/(base_url: )?\$\{(\w+)\}/g)];
  return Object.fromEntries(
    names.map(([, isAddress, name = '']) => [
      name,
      isAddress ? 'https://provider.example' : `a-value-of-sufficient-length-${name}`,
    ]),
  );
}
