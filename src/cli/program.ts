/** Command line: commands, options and help. The code of a command is loaded when it runs. */

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '../config/location.ts';
import { MAX_WORKERS } from '../config/workers.ts';
import { version } from '../core/version.ts';
import { protocols } from '../protocols/index.ts';
import { VIDEO_STATUSES } from '../records/video-task.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { example, parseLimit, portOption, withConfig } from './command.ts';
import { addKeyCommands, addLogin } from './key-commands.ts';
import { addOperationCommands } from './operation-commands.ts';
import { addCatalog, addCompletion, addConnect, addImport } from './setup-commands.ts';
import { addTagCommands } from './tag-commands.ts';

/** Umask that denies group and others all access to new files. */
const PRIVATE_UMASK = 0o077;
const ROOT_OPTIONS = ['-h', '--help', '-V', '--version'];

/** Takes `process.argv`. On failure prints one message and sets the exit code. */
export async function runCommandLine(argv: string[]): Promise<void> {
  process.stdout.on('error', ignoreBrokenPipe);
  process.stderr.on('error', ignoreLostLog);
  process.umask(PRIVATE_UMASK);
  const all = withCommand(argv);
  try {
    await program().parseAsync(all);
  } catch (error) {
    process.exitCode = error instanceof CommanderError ? error.exitCode : 1;
    // Commander has printed its own.
    if (error instanceof CommanderError) return;
    // Its message is for clients, and does not say why.
    const isAway = error instanceof StoreUnavailable;
    process.stderr.write(`${isAway ? `The store cannot be used: ${error.problem}.` : messageOf(error)}\n`);
    // Parts of a gateway that were started before would keep the process.
    if (all[2] === 'serve') process.exit();
  }
}

/** Adds the command `serve` if the arguments have none; their options belong to it. */
function withCommand([node = '', file = '', ...args]: string[]): string[] {
  const [first] = args;
  // Commander has one short name for it, and other programs this one.
  if (first === '-v') return [node, file, '--version'];
  const serves = first === undefined || (first.startsWith('-') && !ROOT_OPTIONS.includes(first));
  return [node, file, ...(serves ? ['serve'] : []), ...args];
}

/** The reader of the output, such as `head`, may close the pipe early. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** A gateway goes on where its banner cannot be written, as where its log cannot. */
function ignoreLostLog(): void {}

function program(): Command {
  const root = new Command('polygate')
    .description(
      'A self-hosted gateway: four model protocols in front of any provider. Without a command, it runs the gateway.',
    )
    .version(version)
    .exitOverride()
    .showHelpAfterError('(polygate --help shows the commands)');
  addServe(root);
  addInit(root);
  addImport(root);
  addConnect(root);
  addCheck(root);
  addKeyCommands(root);
  addTagCommands(root);
  addLogin(root);
  addAudit(root);
  addProviders(root);
  addModels(root);
  addCatalog(root);
  addUsage(root);
  addTail(root);
  addTop(root);
  addRoute(root);
  addVideos(root);
  addOperationCommands(root);
  addCompletion(root);
  return root;
}

function addServe(root: Command): void {
  withConfig(root.command('serve'))
    .description('run the gateway')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .addOption(portOption('port to listen on, 0 for any (default: 8080)'))
    .option(
      '--workers <number>',
      'processes that answer clients, or auto for one per processor (default: 1)',
      parseWorkers,
    )
    .addHelpText('after', example('polygate serve --config polygate.yaml --port 9000'))
    .action(async (options) => (await import('./serve.ts')).serve(options));
}

function addInit(root: Command): void {
  root
    .command('init')
    .description('write a configuration file, after three questions')
    .option('--config <file>', 'file to write (default: polygate.yaml)')
    .option('--yes', 'ask nothing: providers whose variables are set, this machine, the folder ./data')
    .option('--force', 'overwrite the file')
    .addHelpText('after', example('polygate init'))
    .action(async (options) => (await import('./init.ts')).init(options));
}

function addCheck(root: Command): void {
  withConfig(root.command('check'))
    .description('validate the configuration and show it complete, with secrets masked')
    .addHelpText('after', example('polygate check --config polygate.yaml'))
    .action(async (options) => (await import('./check.ts')).check(options));
}

function addAudit(root: Command): void {
  withConfig(root.command('audit'))
    .description('list who changed keys, secrets and tags, the newest first')
    .addOption(new Option('--limit <number>', 'how many at most').default(50).argParser(parseLimit))
    .option('--subject <id>', 'only changes of this key or tag')
    .option('--json', 'print JSON')
    .addHelpText('after', example('polygate audit --limit 20'))
    .action(async (options) => (await import('./audit.ts')).showAudit(options));
}

function addUsage(root: Command): void {
  withConfig(root.command('usage'))
    .description('show what requests used and cost')
    .option(
      '--by <list>',
      'one of minute, hour, day, week, month, and any of model, provider, key, protocol, status, tag:<name> (default: day)',
    )
    .option('--from <moment>', 'ISO date or time, or how long ago such as 7d (default: 30d)')
    .option('--to <moment>', 'ISO date or time, not included (default: now)')
    .option('--zone <name>', 'time zone of days, weeks and months, such as Europe/Berlin (default: UTC)')
    .option('--key <id-or-name>', 'only the requests of this key')
    .option('--json', 'print JSON')
    .addHelpText('after', example('polygate usage --by key,model --from 7d'))
    .action(async (options) => (await import('./usage.ts')).showUsage(options));
}

function addTail(root: Command): void {
  withConfig(root.command('tail'))
    .description('print requests as they end, beside a running gateway')
    .option('--key <id-or-name>', 'only the requests of this key')
    .option('--model <name>', 'only those that this model answered, as provider/model')
    .option('--failed', 'only those that no endpoint answered: status failed')
    .addOption(
      new Option('--limit <number>', 'requests before that are printed first').argParser(parseLimit).default(10),
    )
    .option('--once', 'end after those')
    .option('--json', 'print a JSON object a line')
    .addHelpText('after', example('polygate tail --key ci --failed'))
    .action(async (options) => (await import('./tail.ts')).tail(options));
}

function addTop(root: Command): void {
  withConfig(root.command('top'))
    .description('watch rates, endpoints and requests in the terminal, beside a running gateway')
    .option('--key <id-or-name>', 'only the requests of this key')
    .option('--model <name>', 'only those that this model answered, as provider/model')
    .option('--once', 'print the page once')
    .option('--json', 'print JSON once')
    .addHelpText('after', example('polygate top --key ci'))
    .action(async (options) => (await import('./top/top.ts')).top(options));
}

function addProviders(root: Command): void {
  withConfig(root.command('providers'))
    .description('list the providers, and the variables that those not ready wait for')
    .option('--json', 'print JSON')
    .addHelpText('after', example('polygate providers'))
    .action(async (options) => (await import('./providers.ts')).listProviders(options));
}

function addModels(root: Command): void {
  withConfig(root.command('models'))
    .description('list the models that can be reached')
    .option('--provider <id>', 'only the models of this provider')
    .option('--json', 'print JSON, as GET /v1/models has it')
    .addHelpText('after', example('polygate models --provider sandbox'))
    .action(async (options) => (await import('./models.ts')).listModels(options));
}

function addVideos(root: Command): void {
  const videos = root.command('videos').description('list, show and cancel video tasks of all keys');
  withConfig(videos.command('list'))
    .description('list tasks, the newest first')
    .addOption(new Option('--limit <number>', 'how many at most').default(20).argParser(parseLimit))
    .addOption(new Option('--status <status>', 'only those with this status').choices(VIDEO_STATUSES))
    .option('--model <model>', 'only those of this model')
    .option('--json', 'print JSON, as GET /v1/videos has it')
    .addHelpText('after', example('polygate videos list --status in_progress'))
    .action(async (options) => (await import('./videos.ts')).listVideos(options));
  withConfig(videos.command('show'))
    .description('show a task')
    .argument('<id>', 'as the list shows it')
    .option('--wait', 'wait until it ends; the exit code then tells whether there is a video')
    .option('--json', 'print JSON, as GET /v1/videos/{id} has it')
    .addHelpText('after', example('polygate videos show 0b9e6c1e-5d0f-4a53-9a0c-6a2f5f1f0e11 --wait'))
    .action(async (id, options) => (await import('./videos.ts')).showVideo(id, options));
  withConfig(videos.command('cancel'))
    .description('cancel a task')
    .argument('<id>', 'as the list shows it')
    .option('--abandon', 'give the result up where the provider cannot cancel; it is charged nevertheless')
    .addHelpText('after', example('polygate videos cancel 0b9e6c1e-5d0f-4a53-9a0c-6a2f5f1f0e11'))
    .action(async (id, options) => (await import('./videos.ts')).cancelVideo(id, options));
  videos.addHelpText('after', example('polygate videos list'));
}

function addRoute(root: Command): void {
  withConfig(root.command('route'))
    .description('show where a request would go, without sending anything')
    .argument('<model>', 'as a client names it')
    .option('--request <file>', 'the body of a request, as JSON (default: a greeting)')
    .addOption(
      new Option('--protocol <id>', 'the protocol of the request')
        .choices(protocols.map(({ id }) => id))
        .default('chat'),
    )
    .option('--provider <json>', 'the policy, as the header x-polygate-provider has it')
    .option('--json', 'print JSON')
    .addHelpText('after', example('polygate route sandbox/echo --request body.json'))
    .action(async (model, options) => (await import('./route.ts')).showRoute(model, options));
}

function parseWorkers(text: string): number | 'auto' {
  if (text === 'auto') return text;
  const count = Number(text);
  if (/^\d{1,3}$/.test(text) && count >= 1 && count <= MAX_WORKERS) return count;
  throw new InvalidArgumentError(`The workers are a number from 1 to ${MAX_WORKERS}, or auto.`);
}
