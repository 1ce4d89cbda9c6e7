/** Keys of the role of a container (ECS, EKS Pod Identity), and of that of an EC2 instance (IMDSv2). */

import { withoutEnd } from '../../core/text.ts';
import { ask, createProbe, jsonOf, notSetUp, refusal, unavailable } from '../ask.ts';
import { type IdentityContext, type IdentitySource, readIdentityFile } from '../source.ts';
import { issuedKeys } from './keys.ts';

const ECS_HOST = '169.254.170.2';
const CONTAINER_HOSTS = [ECS_HOST, '169.254.170.23', 'fd00:ec2::23'];
const CONTAINER_SERVER = 'the credentials endpoint of the container';

const INSTANCE_HOSTS = { IPv4: '169.254.169.254', IPv6: 'fd00:ec2::254' };
const INSTANCE_SERVER = 'the instance metadata service';
const ROLE_PATH = '/latest/meta-data/iam/security-credentials/';
const SESSION_SECONDS = '21600';
/** The container's source; undefined where its variables are not set. */
export function containerSource({ variable, clock }: IdentityContext): IdentitySource | undefined {
  const path = variable('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const full = variable('AWS_CONTAINER_CREDENTIALS_FULL_URI');
  const url = path === undefined ? full : `http://${ECS_HOST}${path.startsWith('/') ? path : `/${path}`}`;
  if (url === undefined) return undefined;
  return {
    name: `role of the container (${path === undefined ? 'AWS_CONTAINER_CREDENTIALS_FULL_URI' : 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'})`,
    async issue(signal) {
      const file = variable('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
      const token = file === undefined ? variable('AWS_CONTAINER_AUTHORIZATION_TOKEN') : readIdentityFile(file).trim();
      if (/[\r\n]/.test(token ?? '')) throw notSetUp('the authorization token of the container has several lines');
      const reply = await ask({
        server: CONTAINER_SERVER,
        url,
        headers: token === undefined ? undefined : { authorization: token },
        signal,
        clock,
        plainHosts: CONTAINER_HOSTS,
      });
      return issuedKeys(jsonOf(reply, CONTAINER_SERVER), CONTAINER_SERVER);
    },
  };
}

export function createInstanceSource({ variable, clock }: IdentityContext): IdentitySource {
  const probe = createProbe(clock);

  function baseUrl(): string {
    const configured = variable('AWS_EC2_METADATA_SERVICE_ENDPOINT');
    if (configured !== undefined) return withoutEnd(configured, '/');
    const isIPv6 = variable('AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE')?.toLowerCase() === 'ipv6';
    return `http://${isIPv6 ? `[${INSTANCE_HOSTS.IPv6}]` : INSTANCE_HOSTS.IPv4}`;
  }

  function askService(path: string, signal: AbortSignal, more: object) {
    const plainHosts = Object.values(INSTANCE_HOSTS);
    return ask({ server: INSTANCE_SERVER, url: baseUrl() + path, signal, clock, plainHosts, ...more });
  }

  async function sessionToken(signal: AbortSignal, timeoutMs: number): Promise<string> {
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': SESSION_SECONDS };
    const { status, text } = await askService('/latest/api/token', signal, { method: 'PUT', headers, timeoutMs });
    if (status !== 200) throw refusal(INSTANCE_SERVER, status, undefined);
    return text.trim();
  }

  return {
    name: 'role of the instance (IMDSv2)',
    async issue(signal) {
      const session = await probe((timeoutMs) => sessionToken(signal, timeoutMs));
      const headers = { 'x-aws-ec2-metadata-token': session };
      const { status, text } = await askService(ROLE_PATH, signal, { headers });
      const [role = ''] = text.trim().split('\n');
      if (status === 404 || role === '') throw unavailable('the instance has no role');
      if (status !== 200) throw refusal(INSTANCE_SERVER, status, undefined);
      const reply = await askService(ROLE_PATH + encodeURIComponent(role.trim()), signal, { headers });
      return issuedKeys(jsonOf(reply, INSTANCE_SERVER), INSTANCE_SERVER);
    },
  };
}
