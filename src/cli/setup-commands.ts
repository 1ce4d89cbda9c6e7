/** Definition of the commands that set things up: import, connect, catalog and completion. */

import { Argument, type Command, Option } from 'commander';
import { example, withConfig } from './command.ts';

const PROGRAMS = ['claude', 'codex', 'gemini', 'opencode', 'qwen', 'aider'];

export function addConnect(root: Command): void {
  withConfig(root.command('connect'))
    .description("write a coding agent's settings for this gateway, after a request has shown that they work")
    .addArgument(new Argument('<program>', 'the coding agent').choices(PROGRAMS))
    .option('--model <model>', 'the model that it uses, as "polygate models" names it')
    .option('--small-model <model>', 'the model of its small requests in the background (default: the same)')
    .option('--key <key>', 'a key of the gateway (default: the variable POLYGATE_KEY)')
    .option('--url <url>', 'address of the gateway (default: the one of the configuration)')
    .option('--print', 'show the settings, write nothing')
    .option('--no-check', 'send no request before the settings are written')
    .option('--undo', 'put its settings back as they were')
    .addHelpText('after', example('polygate connect claude --model openai/gpt-5 --small-model openai/gpt-5-mini'))
    .action(async (program, options) => (await import('./connect.ts')).connect(program, options));
}

export function addImport(root: Command): void {
  const imports = root.command('import').description('write a configuration from that of another gateway');
  withOutput(imports.command('litellm'))
    .description("from a LiteLLM proxy's config.yaml; settings without an equivalent are listed on standard error")
    .argument('<file>', "LiteLLM's configuration")
    .addHelpText('after', example('polygate import litellm config.yaml --output polygate.yaml'))
    .action(async (file, options) => (await import('./import.ts')).importSettings('litellm', [file], options));
  withOutput(imports.command('portkey'))
    .description('from configs of Portkey; settings without an equivalent are listed on standard error')
    .argument('<files...>', 'configs, one in each file')
    .addHelpText('after', example('polygate import portkey config.json --output polygate.yaml'))
    .action(async (files, options) => (await import('./import.ts')).importSettings('portkey', files, options));
  withOutput(imports.command('openrouter'))
    .description(
      'from responses of OpenRouter (keys, provider keys, presets); settings without an equivalent are listed',
    )
    .argument('[files...]', 'responses of its API, or requests with preferences')
    .addHelpText('after', example('polygate import openrouter keys.json preset.json --output polygate.yaml'))
    .action(async (files, options) => (await import('./import.ts')).importSettings('openrouter', files, options));
  imports.addHelpText('after', example('polygate import litellm config.yaml'));
}

function withOutput(command: Command): Command {
  return command
    .option('--output <file>', 'file to write (default: standard output)')
    .option('--force', 'overwrite the file');
}

const FORMATS = ['ruby-llm', 'openrouter', 'models-dev', 'litellm'];

export function addCatalog(root: Command): void {
  const catalog = root.command('catalog').description('facts about models: prices, limits, abilities');
  withConfig(catalog.command('update'))
    .description('take newer facts from a public source into the data folder, and show what changes')
    .option(
      '--source <url-or-file>',
      'where the facts are (default: catalog.source of the configuration, or models.dev)',
    )
    .addOption(new Option('--format <format>', 'format of the source (default: found out)').choices(FORMATS))
    .option('--dry-run', 'show the changes, write nothing')
    .option('--accept-prices', 'take prices too that become free, or more than ten times as high or low')
    .addHelpText('after', example('polygate catalog update --source https://openrouter.ai/api/v1/models --dry-run'))
    .action(async (options) => (await import('./catalog-update.ts')).updateCatalogFile(options));
  catalog.addHelpText('after', example('polygate catalog update --dry-run'));
}

export function addCompletion(root: Command): void {
  root
    .command('completion')
    .description('print the script by which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', example('polygate completion bash > ~/.local/share/bash-completion/completions/polygate'))
    .action(async (shell) => {
      const { completionScript } = await import('./completion.ts');
      process.stdout.write(completionScript(shell, root));
    });
}
