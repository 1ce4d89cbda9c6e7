/** `polygate import`: writes a configuration from that of another gateway, and lists the settings that have no equal. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dump } from 'js-yaml';
import { parseConfig } from '../config/load.ts';
import { readYaml } from '../config/yaml-document.ts';
import { GatewayError } from '../core/errors.ts';
import { providerTypes } from '../providers/index.ts';
import { PRIVATE_FILE } from '../security/file-modes.ts';
import { importLiteLlm } from './import-litellm.ts';

export async function importSettings(
  file: string,
  { output, force = false }: { output?: string; force?: boolean },
): Promise<void> {
  if (output !== undefined && existsSync(output) && !force) {
    throw new GatewayError('invalid_request', `${output} exists; --force overwrites it.`);
  }
  const { value, problem } = readYaml(readFileSync(file, 'utf8'));
  if (problem) throw new GatewayError('invalid_request', `${file}:${problem.line}: ${problem.message}`);
  const { config, notes } = importLiteLlm(value);
  const text = `# Imported from a configuration of LiteLLM. "polygate check" shows all fields.\n${dump(config, { lineWidth: -1, noRefs: true })}`;
  parseConfig(text, { environment: setVariables(text), known: providerTypes });
  if (output === undefined) process.stdout.write(text);
  else writeFileSync(output, text, { mode: PRIVATE_FILE });
  for (const { path, advice } of notes) process.stderr.write(`not taken over: ${path}: ${advice}\n`);
}

/** The check of the text wants a value of each variable that it names. */
function setVariables(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
  return Object.fromEntries(names.map((name) => [name, 'a-value-of-sufficient-length-0123456789']));
}
