/** `polygate import`: writes a configuration from that of another gateway, and lists the settings that have no equal. */

import { isUtf8 } from 'node:buffer';
import { existsSync, writeFileSync } from 'node:fs';
import { dump } from 'js-yaml';
import { parseConfig } from '../config/load.ts';
import { readNamedFile } from '../config/location.ts';
import { readYaml } from '../config/yaml-document.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { providerTypes } from '../providers/index.ts';
import { PRIVATE_FILE } from '../security/file-modes.ts';
import { importLiteLlm } from './import/litellm.ts';
import { importOpenRouter } from './import/openrouter.ts';
import { importPortkey } from './import/portkey.ts';
import type { ImportedSettings } from './import/settings.ts';
import { inOneCell } from './table.ts';

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

/** Names and values of the file may be of any length. */
const MAX_LINE_CHARACTERS = 500;

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
  for (const note of notes) process.stderr.write(`${lineOf(note)}\n`);
}

function lineOf({ path, advice }: ImportedSettings['notes'][number]): string {
  const line = inOneCell(`not taken over: ${path}: ${advice}`);
  return line.length <= MAX_LINE_CHARACTERS ? line : `${line.slice(0, MAX_LINE_CHARACTERS)}…`;
}

/** JSON is YAML. */
function readFile(file: string): Json {
  if (!existsSync(file)) throw new GatewayError('invalid_request', `There is no file ${file}.`);
  const bytes = readNamedFile(file);
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', `${file}: is no text in UTF-8; save it as such.`);
  const { value, problem } = readYaml(bytes.toString('utf8'));
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
