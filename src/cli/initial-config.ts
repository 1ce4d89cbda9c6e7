/** Text of the configuration file that `polygate init` writes. */

import { dump } from 'js-yaml';
import type { ProviderType } from '../core/provider.ts';

/** Variable with the URL of the database: a URL with a password does not belong into a file. */
export const DATABASE_VARIABLE = 'POLYGATE_DATABASE';

export interface InitAnswers {
  providers: readonly ProviderType[];
  /** Other machines reach the gateway. */
  isPublic: boolean;
  folder: string;
  /** Keys, usage and tasks are kept in PostgreSQL. */
  database: boolean;
}

export function initialConfig({ providers, isPublic, folder, database }: InitAnswers): string {
  const data = database ? `\${${DATABASE_VARIABLE}}` : folder;
  return `# Configuration of Polygate. Every field is optional; "polygate check" shows all of them with their defaults.

server:
  # ${isPublic ? 'Every address of this machine. Put a TLS proxy in front of it' : 'This machine alone; 0.0.0.0 for every address'}: docs/operations.md.
  host: ${isPublic ? '0.0.0.0' : '127.0.0.1'}
  port: 8080

# Keys, usage and tasks: a folder, or a PostgreSQL database that several gateways share.
${dump({ data }).trimEnd()}

# Credentials come from the environment, or from files: \${NAME} is the variable NAME, or the file that NAME_FILE names.
providers:
${providers.map(providerLine).join('\n')}
  # The built-in fake provider, which needs no key.
  sandbox: { enabled: true }

# Other names of models, for programs that ask for a name of their own:
# aliases: { "claude-haiku-*": openai/gpt-5-mini }

# What is tried when a model fails:
# routing: { fallback_models: [sandbox/echo] }
`;
}

/** A server of one's own needs its address; one with a default address and no key needs nothing. */
function providerLine({ id, environment: [variable], keyless, baseUrl }: ProviderType): string {
  const settings = [
    ...(keyless || variable === undefined ? [] : [`api_key: "\${${variable}}"`]),
    ...(baseUrl === undefined ? ['base_url: http://127.0.0.1:8000/v1'] : []),
  ];
  return `  ${id}: ${settings.length === 0 ? '{}' : `{ ${settings.join(', ')} }`}`;
}
