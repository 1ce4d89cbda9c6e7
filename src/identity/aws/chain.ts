/** Chain of AWS: environment, web identity, shared files, container, instance metadata; a profile or a role by name. */

import { notSetUp } from '../ask.ts';
import type { FindSource, IdentityContext, IdentitySource } from '../source.ts';
import { lastingKeys } from './keys.ts';
import { containerSource, createInstanceSource } from './metadata.ts';
import { profileRegion, profileSource } from './profiles.ts';
import { roleSource, webIdentitySource } from './sts.ts';

const DEFAULT_PROFILE = 'default';

export function awsSources(context: IdentityContext): FindSource {
  const { settings, variable } = context;
  const instance = createInstanceSource(context);

  function instanceSource(): IdentitySource | undefined {
    return variable('AWS_EC2_METADATA_DISABLED')?.toLowerCase() === 'true' ? undefined : instance;
  }

  const named = {
    Environment: () => environmentSource(context),
    EcsContainer: () => containerSource(context),
    Ec2InstanceMetadata: instanceSource,
  };

  function profile(name: string): IdentitySource {
    const found = profileSource(context, name, named);
    if (!found) throw notSetUp(`the shared files of AWS have no credentials of a profile "${name}"`);
    return found;
  }

  function chain(): IdentitySource {
    const fromVariables = environmentSource(context) ?? webIdentity(context);
    if (fromVariables) return fromVariables;
    const name = variable('AWS_PROFILE');
    if (name !== undefined) return profile(name);
    const found = profileSource(context, DEFAULT_PROFILE, named) ?? containerSource(context) ?? instanceSource();
    if (!found)
      throw notSetUp('neither the environment nor the shared files of AWS have any, and instance metadata is off');
    return found;
  }

  return () => {
    const { profile: name, role_arn: arn, external_id: externalId, session_name: sessionName } = settings;
    const base = name === undefined ? chain() : profile(name);
    if (arn === undefined) return base;
    const region = profileRegion(context, name ?? variable('AWS_PROFILE') ?? DEFAULT_PROFILE);
    return roleSource(context, base, { arn, externalId, sessionName }, region);
  };
}

function environmentSource({ variable }: IdentityContext): IdentitySource | undefined {
  const id = variable('AWS_ACCESS_KEY_ID');
  const secret = variable('AWS_SECRET_ACCESS_KEY');
  if (id === undefined && secret === undefined) return undefined;
  if (id === undefined || secret === undefined)
    throw notSetUp('only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set');
  const names = { id: 'AWS_ACCESS_KEY_ID', sessionToken: 'AWS_SESSION_TOKEN' };
  const keys = lastingKeys({ id, secret, sessionToken: variable('AWS_SESSION_TOKEN') }, names);
  return { name: 'environment (AWS_ACCESS_KEY_ID)', issue: () => Promise.resolve(keys) };
}

function webIdentity(context: IdentityContext): IdentitySource | undefined {
  const { variable } = context;
  const file = variable('AWS_WEB_IDENTITY_TOKEN_FILE');
  const arn = variable('AWS_ROLE_ARN');
  if (file === undefined || arn === undefined) return undefined;
  const source = webIdentitySource(context, file, { arn, sessionName: variable('AWS_ROLE_SESSION_NAME') });
  return { ...source, name: 'web identity (AWS_WEB_IDENTITY_TOKEN_FILE)' };
}
