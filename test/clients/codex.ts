/** Codex as it is published, run without a person in a folder of its own. */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { KEY } from '../gateway/harness.ts';

interface Installer {
  installPackages(folder: string, mode: string, what: string): Promise<void>;
}

const PACKAGES = join(import.meta.dirname, 'codex');
const TRIPLES: Record<string, string> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
};
const PLATFORM = `${process.platform}-${process.arch}`;
const TIMEOUT_MS = 60_000;
/** Newer versions print a list of models with instructions for each, of more than a megabyte. */
const MOST_OUTPUT_BYTES = 64 * 1024 ** 2;

/** Versions that speak differently. */
export const VERSIONS = ['0.80', '0.104', '0.130', '0.150', '0.171'] as const;

export async function installCodex(): Promise<void> {
  const installer: Installer = await import(new URL('../../scripts/install.mjs', import.meta.url).href);
  await installer.installPackages(PACKAGES, 'all', 'Codex, several versions');
}

/** The program of a version; undefined where it is not published for this platform. */
export function codexProgram(version: string): string | undefined {
  const packages = [`codex-${version}`, `codex-${version}-${PLATFORM}`];
  const files = packages.flatMap((name) =>
    ['codex/codex', 'bin/codex'].map((file) =>
      join(PACKAGES, 'node_modules', name, 'vendor', TRIPLES[PLATFORM] ?? '', file),
    ),
  );
  return files.find((file) => existsSync(file));
}

export interface CodexRun {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CodexFolder {
  /** Where it works. */
  work: string;
  run(program: string, args: string[]): Promise<CodexRun>;
}

/** A home of Codex with the gateway as its provider. The key is in the environment, or told by a command. */
export function codexFolder(
  context: TestContext,
  { url, model, key = 'env_key = "POLYGATE_KEY"' }: { url: string; model: string; key?: string },
): CodexFolder {
  const home = mkdtempSync(join(tmpdir(), 'polygate-codex-'));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const work = join(home, 'work');
  mkdirSync(work);
  writeFileSync(
    join(home, 'config.toml'),
    `model = "${model}"
model_provider = "polygate"

[model_providers.polygate]
name = "Polygate"
base_url = "${url}/v1"
wire_api = "responses"
${key}
`,
  );
  // Updates and plugins would be fetched from the internet.
  const nowhere = 'http://127.0.0.1:1';
  const env = {
    ...{ PATH: process.env.PATH, HOME: home, CODEX_HOME: home, POLYGATE_KEY: KEY },
    ...{ HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, NO_PROXY: '127.0.0.1' },
  };
  return {
    work,
    run: (program, args) =>
      new Promise((resolve) => {
        const options = { cwd: work, env, timeout: TIMEOUT_MS, maxBuffer: MOST_OUTPUT_BYTES };
        const child = execFile(program, args, options, (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
        );
        child.stdin?.end();
      }),
  };
}

/** Arguments of a run without a person, and without a sandbox, which needs rights that a test may lack. */
export function execArguments(prompt: string): string[] {
  return ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt];
}
