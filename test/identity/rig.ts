/** An identity with variables and files of a test, and a clock that the test moves. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CredentialValue, Identity, IdentityVendor, SentCredential } from '../../src/core/credential.ts';
import { openIdentity } from '../../src/identity/index.ts';
import type { Secret } from '../../src/security/secret.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';

export const START = Date.UTC(2026, 10, 29);

export interface IdentityRig extends Identity {
  clock: ManualClock;
  failures: string[];
  current(): Promise<SentCredential>;
}

export interface RigOptions {
  settings?: string | Record<string, string | Secret>;
  /** Variables; may be changed later. */
  environment?: Record<string, string>;
  baseUrl?: string;
  readKey?(text: string): CredentialValue;
}

export async function openRig(
  vendor: IdentityVendor,
  { settings = 'auto', environment = {}, baseUrl = '', readKey }: RigOptions = {},
): Promise<IdentityRig> {
  const clock = createManualClock(START);
  const failures: string[] = [];
  const identity = await openIdentity({
    ...{ vendor, settings, baseUrl, clock },
    ...(readKey && { readKey }),
    lookUp: (name) => ({ value: environment[name] }),
    onFailure: (problem) => void failures.push(problem),
  });
  return { ...identity, clock, failures, current: async () => identity.source.current() };
}

/** A folder that the test's end removes, and files in it. */
export function folderOf(context: TestContext, files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-identity-'));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** An ISO date so many milliseconds after the start. */
export function inMs(milliseconds: number): string {
  return new Date(START + milliseconds).toISOString();
}
