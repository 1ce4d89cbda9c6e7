/** Programs that `polygate connect` sets up: the settings of each, and where they are kept. */

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import type { Setting, SettingsFile } from './settings-file.ts';
import type { AgentConnection, TrialProtocol } from './trial.ts';

export interface ConnectedProgram {
  title: string;
  /** Command that starts the program. */
  command: string;
  protocol: TrialProtocol;
  /** Variables that come before its settings. */
  overrides: string[];
  files(connection: AgentConnection, environment: Environment): SettingsFile[];
  /** Advice to show after the program is connected. */
  advice?: string;
}

/** Name of the gateway in lists of providers. */
const PROVIDER = 'polygate';
const KEY_VARIABLE = 'POLYGATE_KEY';

function set(path: string, value: Setting['value']): Setting {
  return { path: path.split('.'), value };
}

const claude: ConnectedProgram = {
  title: 'Claude Code',
  command: 'claude',
  protocol: 'messages',
  overrides: ['ANTHROPIC_API_KEY'],
  files: ({ url, key, model, smallModel }, environment) => [
    {
      path: join(environment.CLAUDE_CONFIG_DIR || join(homedir(), '.claude'), 'settings.json'),
      format: 'json',
      settings: [
        set('env.ANTHROPIC_BASE_URL', `${url}/anthropic`),
        set('env.ANTHROPIC_AUTH_TOKEN', key),
        set('env.ANTHROPIC_MODEL', model),
        // The models of subagents, by the names of sizes that it gives them.
        set('env.ANTHROPIC_DEFAULT_OPUS_MODEL', model),
        set('env.ANTHROPIC_DEFAULT_SONNET_MODEL', model),
        set('env.ANTHROPIC_DEFAULT_HAIKU_MODEL', smallModel),
      ],
    },
  ],
};

const codex: ConnectedProgram = {
  title: 'Codex',
  command: 'codex',
  protocol: 'responses',
  overrides: [],
  files: ({ url, key, model }, environment) => [
    {
      path: join(environment.CODEX_HOME || join(homedir(), '.codex'), 'config.toml'),
      format: 'toml',
      settings: [
        set('model', model),
        set('model_provider', PROVIDER),
        set(`model_providers.${PROVIDER}`, {
          name: 'Polygate',
          base_url: `${url}/v1`,
          wire_api: 'responses',
          experimental_bearer_token: key,
        }),
      ],
    },
  ],
};

const gemini: ConnectedProgram = {
  title: 'Gemini CLI',
  command: 'gemini',
  protocol: 'generate',
  overrides: ['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_MODEL'],
  files: ({ url, key, model }, environment) => {
    const folder = join(environment.GEMINI_CLI_HOME || homedir(), '.gemini');
    return [
      {
        path: join(folder, 'settings.json'),
        format: 'json',
        settings: [set('security.auth.selectedType', 'gemini-api-key'), set('model.name', model)],
      },
      {
        path: join(folder, '.env'),
        format: 'env',
        settings: [set('GOOGLE_GEMINI_BASE_URL', `${url}/gemini`), set('GEMINI_API_KEY', key)],
      },
    ];
  },
  advice: 'Its helpers ask for models by fixed names: the aliases for them are in docs/clients.md.',
};

const opencode: ConnectedProgram = {
  title: 'OpenCode',
  command: 'opencode',
  protocol: 'chat',
  overrides: ['OPENCODE_CONFIG'],
  files: ({ url, key, model, smallModel }, environment) => {
    const folder = join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'opencode');
    const names = ['opencode.jsonc', 'opencode.json', 'config.json'];
    const name = names.find((each) => existsSync(join(folder, each))) ?? 'opencode.json';
    return [
      {
        path: join(folder, name),
        format: 'json',
        settings: [
          set(`provider.${PROVIDER}`, {
            npm: '@ai-sdk/openai-compatible',
            name: 'Polygate',
            options: { baseURL: `${url}/v1`, apiKey: key },
            models: Object.fromEntries([model, smallModel].map((id) => [id, { name: id }])),
          }),
          set('model', `${PROVIDER}/${model}`),
          set('small_model', `${PROVIDER}/${smallModel}`),
        ],
      },
    ];
  },
};

const qwen: ConnectedProgram = {
  title: 'Qwen Code',
  command: 'qwen',
  protocol: 'chat',
  overrides: [KEY_VARIABLE],
  files: ({ url, key, model, smallModel }, environment) => {
    const models = [...new Set([model, smallModel])].map((id) => ({
      id,
      name: `${id} (Polygate)`,
      baseUrl: `${url}/v1`,
      envKey: KEY_VARIABLE,
    }));
    return [
      {
        path: join(environment.QWEN_HOME || join(homedir(), '.qwen'), 'settings.json'),
        format: 'json',
        settings: [
          ...models.map((value) => ({
            path: ['modelProviders', 'openai'],
            value,
            identity: ['id', 'baseUrl'],
          })),
          set(`env.${KEY_VARIABLE}`, key),
          set('security.auth.selectedType', 'openai'),
          set('model.name', model),
          set('fastModel', smallModel),
        ],
      },
    ];
  },
};

const aider: ConnectedProgram = {
  title: 'Aider',
  command: 'aider',
  protocol: 'chat',
  overrides: [],
  files: ({ url, key, model, smallModel }) => [
    {
      path: join(homedir(), '.aider.conf.yml'),
      format: 'yaml',
      settings: [
        set('openai-api-base', `${url}/v1`),
        set('openai-api-key', key),
        set('model', `openai/${model}`),
        set('weak-model', `openai/${smallModel}`),
        // It would ask about each model that it does not know.
        set('show-model-warnings', false),
      ],
    },
  ],
};

export const connectedPrograms: Readonly<Record<string, ConnectedProgram>> = {
  claude,
  codex,
  gemini,
  opencode,
  qwen,
  aider,
};
