/** Definition of `polygate keys` and its subcommands. */

import type { Command } from 'commander';
import { example, withConfig } from './command.ts';

const KEY_ARGUMENT = '<id-or-name>';
const KEY_HELP = 'as the list shows it';

export function addKeyCommands(root: Command): void {
  const keys = root.command('keys').description('make, list, change and revoke API keys of the gateway');
  addCreateCommand(keys);
  addReadCommands(keys);
  addUpdateCommands(keys);
  addSecretCommands(keys);
  keys.addHelpText('after', example('polygate keys create --name laptop'));
}

function addCreateCommand(keys: Command): void {
  withSettings(withJson(keys.command('create')))
    .description('make a key and show it this once')
    .requiredOption('--name <name>', 'what to call it')
    .addHelpText('after', example("polygate keys create --name ci --expires 30d --models 'openai/*,sandbox/*'"))
    .action(async (options) => (await import('./keys.ts')).createKey(options));
}

function addReadCommands(keys: Command): void {
  withJson(keys.command('list'))
    .description('list the keys')
    .addHelpText('after', example('polygate keys list'))
    .action(async (options) => (await import('./keys.ts')).listKeys(options));
  withJson(keys.command('show'))
    .description('show what a key may do')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .addHelpText('after', example('polygate keys show ci'))
    .action(async (key, options) => (await import('./keys.ts')).showKey(key, options));
}

function addUpdateCommands(keys: Command): void {
  withSettings(withJson(keys.command('update')))
    .description('change what a key may do; what is not named stays')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .option('--name <name>', 'what to call it from now on')
    .option('--no-read-only', 'let it start things again')
    .addHelpText('after', example('polygate keys update ci --rpm 60 --budget month=20.00'))
    .action(async (key, options) => (await import('./keys.ts')).updateKey(key, options));
  withJson(keys.command('rotate'))
    .description('give a key a new secret and show it this once')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .option('--overlap <duration>', 'how long the one before it still works, 0 after a leak', '24h')
    .addHelpText('after', example('polygate keys rotate ci --overlap 1h'))
    .action(async (key, options) => (await import('./keys.ts')).rotateKey(key, options));
  for (const [name, disabled] of [['disable', true] as const, ['enable', false] as const]) {
    withJson(keys.command(name))
      .description(disabled ? 'refuse a key until it is enabled again' : 'take a key again that was disabled')
      .argument(KEY_ARGUMENT, KEY_HELP)
      .addHelpText('after', example(`polygate keys ${name} ci`))
      .action(async (key, options) => (await import('./keys.ts')).setKeyDisabled(key, disabled, options));
  }
  withJson(keys.command('revoke'))
    .description('refuse a key from now on, for good')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .addHelpText('after', example('polygate keys revoke ci'))
    .action(async (key, options) => (await import('./keys.ts')).revokeKey(key, options));
}

function addSecretCommands(keys: Command): void {
  withJson(keys.command('secret'))
    .description('show what the webhooks of a key are signed with')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .option('--rotate', 'make a new one')
    .option('--activate-in <duration>', 'when the new one signs, 0 after a leak', '24h')
    .addHelpText('after', example('polygate keys secret ci --rotate --activate-in 1h'))
    .action(async (key, options) => (await import('./keys.ts')).showSecret(key, options));
  withJson(keys.command('rekey'))
    .description('encrypt what is stored with the newest encryption key')
    .addHelpText('after', example('polygate keys rekey'))
    .action(async (options) => (await import('./keys.ts')).rekey(options));
}

function withJson(command: Command): Command {
  return withConfig(command).option('--json', 'print JSON');
}

function withSettings(command: Command): Command {
  return command
    .option('--expires <moment>', 'ISO date, or a duration from now such as 30d')
    .option('--models <globs>', 'models it may use, e.g. openai/*,sandbox/* (default: all)')
    .option('--surfaces <names>', 'surfaces it may use, e.g. chat,videos (default: all)')
    .option('--read-only', 'it may look at its own use and tasks, and start nothing')
    .option('--cidrs <ranges>', 'addresses that may use it (default: all)')
    .option('--rpm <number>', 'requests a minute')
    .option('--tpm <number>', 'tokens a minute, in and out')
    .option('--concurrent <number>', 'requests at once')
    .option('--budget <period=USD...>', 'USD it may spend by day, week, month and total, e.g. day=5.00');
}
