/** Application default credentials of Google: a file of the environment, that of gcloud, the metadata server; or a file by name. */

import { platform } from 'node:os';
import { join } from 'node:path';
import { withoutEnd } from '../../core/text.ts';
import { ask, createProbe, jsonOf, notSetUp, unavailable } from '../ask.ts';
import {
  type FindSource,
  homeFolder,
  type IdentityContext,
  type IdentitySource,
  readIdentityFile,
  readOptionalFile,
} from '../source.ts';
import { bearerToken, tokenOf } from '../token.ts';
import { fileSource } from './file.ts';

const FILE_VARIABLE = 'GOOGLE_APPLICATION_CREDENTIALS';
const GCLOUD_FILE = 'application_default_credentials.json';
const SERVER = 'the metadata server';
const HOST = '169.254.169.254';
const PLAIN_HOSTS = [HOST, 'metadata.google.internal'];
const INSTANCE_PATH = '/computeMetadata/v1/instance';
const TOKEN_PATH = `${INSTANCE_PATH}/service-accounts/default/token`;
const FLAVOR = 'metadata-flavor';
const FLAVOR_VALUE = 'Google';
export function googleSources(context: IdentityContext): FindSource {
  const { settings, variable } = context;
  const metadata = createMetadataSource(context);

  function chain(): IdentitySource {
    const named = variable(FILE_VARIABLE);
    if (named !== undefined) return fileSource(context, readIdentityFile(named), `${FILE_VARIABLE}, ${named}`);
    const path = gcloudFile(context);
    const text = path === undefined ? undefined : readOptionalFile(path, true);
    if (path !== undefined && text !== undefined) return fileSource(context, text, path);
    if (variable('METADATA_SERVER_DETECTION')?.toLowerCase() === 'none')
      throw notSetUp(`${FILE_VARIABLE} is not set, gcloud has no file, and the metadata server is off`);
    return metadata;
  }

  return () =>
    settings.file === undefined ? chain() : fileSource(context, readIdentityFile(settings.file), settings.file);
}

function gcloudFile(context: IdentityContext): string | undefined {
  const { variable } = context;
  const folder = variable('CLOUDSDK_CONFIG');
  if (folder !== undefined) return join(folder, GCLOUD_FILE);
  if (platform() !== 'win32') return join(homeFolder(context), '.config', 'gcloud', GCLOUD_FILE);
  const roaming = variable('APPDATA');
  return roaming === undefined ? undefined : join(roaming, 'gcloud', GCLOUD_FILE);
}

function createMetadataSource({ variable, clock }: IdentityContext): IdentitySource {
  const probe = createProbe(clock);
  let isPresent = false;

  async function askServer(path: string, signal: AbortSignal, timeoutMs?: number) {
    const host = variable('GCE_METADATA_IP') ?? variable('GCE_METADATA_HOST') ?? HOST;
    const url = (/^https?:\/\//.test(host) ? withoutEnd(host, '/') : `http://${host}`) + path;
    const headers = { [FLAVOR]: FLAVOR_VALUE };
    const timeout = timeoutMs === undefined ? {} : { timeoutMs };
    const reply = await ask({ server: SERVER, url, headers, signal, clock, plainHosts: PLAIN_HOSTS, ...timeout });
    if (reply.headers[FLAVOR] !== FLAVOR_VALUE) throw unavailable('what answered is not the metadata server of Google');
    return reply;
  }

  return {
    name: SERVER,
    async issue(signal) {
      // A token may take longer than the proof that the server is there.
      if (!isPresent) await probe((timeoutMs) => askServer(INSTANCE_PATH, signal, timeoutMs));
      isPresent = true;
      const reply = await askServer(TOKEN_PATH, signal);
      return bearerToken(tokenOf(jsonOf(reply, SERVER), SERVER, clock.now()), SERVER);
    },
  };
}
