/** Identities at cloud platforms: credentials that a platform issues to machines, roles and accounts. Loaded with the first one. */

import { type Clock, systemClock } from '../core/clock.ts';
import type { CredentialValue, Identity, IdentityStatus, IdentityVendor, SentCredential } from '../core/credential.ts';
import { GatewayError } from '../core/errors.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import { Secret } from '../security/secret.ts';
import { createRenewal } from '../transport/token-source.ts';
import { IdentityProblem, notSetUp } from './ask.ts';
import type { FindSource, IdentityContext } from './source.ts';

interface IdentityOptions {
  vendor: IdentityVendor;
  /** A name, or members by their names in the configuration. */
  settings: string | Readonly<Record<string, string | Secret>>;
  lookUp(name: string): { value: string | undefined; problem?: string };
  /** Address of the upstream, which says the region or the cloud. */
  baseUrl: string;
  /** Forms of a key of the provider type. */
  readKey?(text: string): CredentialValue;
  clock?: Clock | undefined;
  proxy?: HttpProxy | undefined;
  /** Called after each failure, also while an older credential is still used. */
  onFailure?(problem: string): void;
}

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { vendor, settings, lookUp, clock = systemClock, proxy, onFailure } = options;
  const context: IdentityContext = {
    choice: typeof settings === 'string' ? settings : undefined,
    settings: typeof settings === 'string' ? {} : revealed(settings),
    variable(name) {
      const { value, problem } = lookUp(name);
      if (problem !== undefined) throw notSetUp(problem);
      return value?.trim() || undefined;
    },
    baseUrl: options.baseUrl,
    readKey: options.readKey,
    clock,
    proxy,
  };
  const find = await finderOf(vendor, context);
  let status: IdentityStatus = {};
  try {
    status = { name: find().name };
  } catch (error) {
    status = { problem: problemOf(error) };
  }
  const source = createRenewal<SentCredential>({
    id: vendor,
    name: 'credentials',
    clock,
    async issue(signal) {
      const found = find();
      const issued = await found.issue(signal);
      status = { name: found.name };
      return issued;
    },
    onFailure(error, isUsable) {
      const problem = problemOf(error.cause);
      if (!isUsable) status = { ...status, problem };
      onFailure?.(problem);
    },
  });
  return { source, status: () => status };
}

async function finderOf(vendor: IdentityVendor, context: IdentityContext): Promise<FindSource> {
  switch (vendor) {
    case 'aws':
      return (await import('./aws/chain.ts')).awsSources(context);
    case 'google':
      return (await import('./google/chain.ts')).googleSources(context);
    case 'azure':
      return (await import('./azure.ts')).azureSources(context);
  }
}

function problemOf(cause: unknown): string {
  if (cause instanceof IdentityProblem) return `It has no credentials: ${cause.detail}.`;
  const reason = cause instanceof GatewayError ? cause.message : 'they could not be read';
  return `It has no credentials: ${reason}.`;
}

function revealed(settings: Readonly<Record<string, string | Secret>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
}
