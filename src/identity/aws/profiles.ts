/** Profiles of the shared files of AWS: `~/.aws/credentials` and `~/.aws/config`. */

import { join } from 'node:path';
import { notSetUp } from '../ask.ts';
import { homeFolder, type IdentityContext, type IdentitySource, readOptionalFile } from '../source.ts';
import { lastingKeys } from './keys.ts';
import { processSource } from './process.ts';
import { roleSource, webIdentitySource } from './sts.ts';

/** Settings of a profile. */
type Profile = Readonly<Record<string, string>>;

/** Sources that a role of a profile may name by `credential_source`. */
type NamedSources = Readonly<Record<string, () => IdentitySource | undefined>>;

const UNSUPPORTED = ['sso_session', 'sso_start_url', 'sso_account_id', 'login_session'];
const KEY_SETTINGS = ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'];

/** The source of a profile; undefined for a profile that is not there or says nothing of credentials. */
export function profileSource(context: IdentityContext, name: string, named: NamedSources): IdentitySource | undefined {
  return sourceOf(name, { context, named, profiles: readProfiles(context), visited: [] });
}

/** Region of a profile. */
export function profileRegion(context: IdentityContext, name: string): string | undefined {
  return readProfiles(context).get(name)?.region;
}

interface ProfileSearch {
  context: IdentityContext;
  named: NamedSources;
  profiles: ReadonlyMap<string, Profile>;
  /** Profiles that lead to this one. */
  visited: readonly string[];
}

function sourceOf(name: string, search: ProfileSearch): IdentitySource | undefined {
  const { context, profiles, visited } = search;
  const profile = profiles.get(name);
  if (!profile) return undefined;
  const [id, secret, sessionToken] = KEY_SETTINGS.map((setting) => profile[setting]);
  const hasKeys = id !== undefined && secret !== undefined;
  if (visited.includes(name) && !(hasKeys && visited.at(-1) === name))
    throw notSetUp(`the profile "${name}" is its own source_profile`);
  // A role whose source is its own profile is assumed with the keys of that profile.
  if (hasKeys && (visited.length > 0 || profile.role_arn === undefined)) {
    const own = `of the profile "${name}"`;
    const names = { id: `aws_access_key_id ${own}`, sessionToken: `aws_session_token ${own}` };
    return { name: `profile "${name}"`, issue: async () => lastingKeys({ id, secret, sessionToken }, names) };
  }
  if (profile.role_arn !== undefined) {
    const { role_arn: arn, role_session_name: sessionName, external_id: externalId, region } = profile;
    const role = { arn, sessionName, externalId, seconds: profile.duration_seconds };
    const file = profile.web_identity_token_file;
    if (file !== undefined) return { ...webIdentitySource(context, file, role, region), name: `profile "${name}"` };
    if (profile.mfa_serial !== undefined) throw unsupported(name, 'mfa_serial');
    return { ...roleSource(context, baseOf(name, profile, search), role, region), name: `profile "${name}"` };
  }
  if (profile.credential_process !== undefined) return processSource(name, profile.credential_process);
  const setting = UNSUPPORTED.find((one) => profile[one] !== undefined);
  if (setting !== undefined) throw unsupported(name, setting);
  return undefined;
}

/** The source with whose keys the role of a profile is assumed. */
function baseOf(name: string, profile: Profile, search: ProfileSearch): IdentitySource {
  const { source_profile: other, credential_source: kind } = profile;
  if (other !== undefined) {
    const found = sourceOf(other, { ...search, visited: [...search.visited, name] });
    if (!found) throw notSetUp(`the profile "${other}" has no credentials, and "${name}" names it as its source`);
    return found;
  }
  const found = kind !== undefined && Object.hasOwn(search.named, kind) ? search.named[kind]?.() : undefined;
  if (!found) throw notSetUp(`the profile "${name}" has a role, and no source of keys for it`);
  return found;
}

function unsupported(name: string, setting: string) {
  return notSetUp(`the profile "${name}" uses ${setting}, which is not supported`);
}

function readProfiles(context: IdentityContext): Map<string, Profile> {
  const config = readShared(context, 'AWS_CONFIG_FILE', 'config');
  const credentials = readShared(context, 'AWS_SHARED_CREDENTIALS_FILE', 'credentials');
  const profiles = new Map<string, Profile>();
  for (const [section, settings] of config) {
    const name = section.replace(/^profile\s/, '').trimStart();
    if (section === 'default' || name !== section) profiles.set(name, settings);
  }
  // Keys of the credentials file win.
  for (const [name, settings] of credentials) profiles.set(name, { ...profiles.get(name), ...settings });
  return profiles;
}

/** The file that a variable names, else that of the home folder. */
function readShared(context: IdentityContext, variable: string, name: string): ReturnType<typeof parseIni> {
  const named = context.variable(variable);
  return parseIni(readOptionalFile(named ?? join(homeFolder(context), '.aws', name), named === undefined) ?? '');
}

/** Sections with their settings. Indented lines belong to a nested setting and are left out. */
function parseIni(text: string): Map<string, Record<string, string>> {
  const sections = new Map<string, Record<string, string>>();
  let current: Record<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, section = ''] = /^\[([^\]]+)\]/.exec(line) ?? [];
    if (section.trim() !== '') {
      const name = section.trim().replace(/^(profile\s+)?["'](.*)["']$/, '$1$2');
      current = sections.get(name) ?? {};
      sections.set(name, current);
      continue;
    }
    const [, setting, text = ''] = /^([^\s#;=][^=]*)=(.*)$/.exec(line) ?? [];
    const [value = ''] = text.split(/\s[#;]/, 1);
    if (current && setting !== undefined) current[setting.trim().toLowerCase()] = value.trim();
  }
  return sections;
}
