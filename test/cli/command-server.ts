/**
 * Command server: runs commands of the program one after the other in this process, each with a folder and an environment
 * of its own, as the tests that started it ask. What a start of Node costs is paid once.
 */

import { runCommandLine } from '../../src/cli/program.ts';

export interface CommandRequest {
  args: string[];
  folder: string;
  environment: Record<string, string | undefined>;
}

const home = process.cwd();
let last = Promise.resolve();

process.on('message', (request: CommandRequest) => {
  last = last.then(() => run(request));
});
process.on('disconnect', () => process.exit());

async function run({ args, folder, environment }: CommandRequest): Promise<void> {
  process.chdir(folder);
  setEnvironment(environment);
  const printed = { stdout: '', stderr: '' };
  const restore = (['stdout', 'stderr'] as const).map((name) => {
    const { write } = process[name];
    process[name].write = (chunk: string | Uint8Array) => {
      printed[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      return true;
    };
    return () => {
      process[name].write = write;
      process[name].removeAllListeners('error');
    };
  });
  process.exitCode = 0;
  await runCommandLine(['node', 'polygate', ...args]);
  for (const each of restore) each();
  process.chdir(home);
  process.send?.({ code: process.exitCode, ...printed });
  process.exitCode = 0;
}

function setEnvironment(environment: CommandRequest['environment']): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) process.env[name] = value;
}
