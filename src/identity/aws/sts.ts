/** Keys of a role, asked of the Security Token Service of AWS with the keys of another identity or with a web identity token. */

import { authorizationOf, awsDomainOf, clockOffsetOf, regionIn, sha256Of, stampOf } from '../../core/aws-signature.ts';
import type { KeyPair } from '../../core/credential.ts';
import { ask, notSetUp, refusal, type ServerReply } from '../ask.ts';
import { type IdentityContext, type IdentitySource, type IssuedCredential, readIdentityFile } from '../source.ts';
import { FORM_HEADERS, formText } from '../token.ts';
import { issuedKeys } from './keys.ts';

export interface AssumedRole {
  arn: string;
  sessionName?: string | undefined;
  externalId?: string | undefined;
  /** Lifetime of the keys; that of the service if absent. */
  seconds?: string | undefined;
}

const SERVER = 'AWS STS';
const VERSION = '2011-06-15';
const DEFAULT_SESSION_NAME = 'polygate';
/** The address without a region is that of this one. */
const GLOBAL_REGION = 'us-east-1';
const REGION = /^[a-z]{2,4}(?:-[a-z]+)+-\d+$/;
const KEY_MEMBERS = { id: 'AccessKeyId', secret: 'SecretAccessKey', token: 'SessionToken' };

/** Keys of a role for a token of a file, which is read anew each time because it rotates. */
export function webIdentitySource(
  context: IdentityContext,
  file: string,
  role: AssumedRole,
  region?: string,
): IdentitySource {
  return {
    name: `web identity (${file})`,
    issue(signal) {
      const token = readIdentityFile(file).trim();
      const form = formOf('AssumeRoleWithWebIdentity', role, { WebIdentityToken: token });
      return askSts(context, { form, region, signal });
    },
  };
}

/** Keys of a role for those of another source. */
export function roleSource(
  context: IdentityContext,
  base: IdentitySource,
  role: AssumedRole,
  region?: string,
): IdentitySource {
  return {
    name: `role, assumed with: ${base.name}`,
    async issue(signal) {
      const { value } = await base.issue(signal);
      if (value.type !== 'key-pair') throw new Error('a role is assumed with a pair of keys');
      const form = formOf('AssumeRole', role, { ExternalId: role.externalId });
      return askSts(context, { form, region, signal, keys: value });
    },
  };
}

function formOf(
  action: string,
  { arn, sessionName, seconds }: AssumedRole,
  more: Record<string, string | undefined>,
): string {
  const members = {
    Action: action,
    Version: VERSION,
    RoleArn: arn,
    RoleSessionName: sessionName ?? DEFAULT_SESSION_NAME,
    DurationSeconds: seconds,
    ...more,
  };
  return formText(members);
}

interface StsQuestion {
  form: string;
  region: string | undefined;
  signal: AbortSignal;
  /** Absent for an action that is not signed. */
  keys?: KeyPair;
}

async function askSts(
  context: IdentityContext,
  { form, region: own, signal, keys }: StsQuestion,
): Promise<IssuedCredential> {
  const { variable, clock, proxy, baseUrl } = context;
  const named = variable('AWS_REGION') ?? variable('AWS_DEFAULT_REGION') ?? own;
  const region = named ?? regionIn(baseUrl);
  if (region !== undefined && !REGION.test(region)) throw notSetUp('the region of AWS is none');
  const address = variable('AWS_ENDPOINT_URL_STS') ?? addressOf(region);
  if (!URL.canParse(address)) throw notSetUp('AWS_ENDPOINT_URL_STS is no address');
  const url = new URL(address).href;
  const send = (now: number) =>
    ask({
      server: SERVER,
      url,
      method: 'POST',
      headers: {
        ...FORM_HEADERS,
        ...(keys && signatureHeaders({ url, form, region: region ?? GLOBAL_REGION }, keys, now)),
      },
      body: form,
      signal,
      clock,
      proxy,
    });
  const first = await send(clock.now());
  const offset = first.status === 200 ? undefined : clockOffsetOf(refusalOf(first), clock.now());
  const { status, text } = offset === undefined ? first : await send(clock.now() + offset);
  if (status !== 200) throw refusal(SERVER, status, element(text, 'Code'));
  const members = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'];
  const given = Object.fromEntries(members.map((name) => [name, element(text, name)]));
  const issued = issuedKeys(given, SERVER, KEY_MEMBERS);
  // Their end is a time of the service.
  return { ...issued, expiresAt: issued.expiresAt - (offset ?? 0) };
}

function refusalOf({ status, headers, text }: ServerReply) {
  return { status, name: element(text, 'Code') ?? '', message: element(text, 'Message'), date: headers.date };
}

function addressOf(region: string | undefined): string {
  if (region === undefined) return 'https://sts.amazonaws.com/';
  return `https://sts.${region}.${awsDomainOf(region)}/`;
}

function signatureHeaders(
  { url, form, region }: { url: string; form: string; region: string },
  { id, secret, sessionToken }: KeyPair,
  now: number,
): Record<string, string> {
  const { host, pathname } = new URL(url);
  const stamp = stampOf(now);
  const own = { 'x-amz-date': stamp, ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }) };
  const headers = Object.entries({ host, ...own });
  const request = { method: 'POST', path: pathname, query: '', headers, sha256: sha256Of(form) };
  return { ...own, authorization: authorizationOf(request, { id, secret }, { stamp, region, service: 'sts' }) };
}

/** Text of an element of the answer, whose values need no escapes but those of a token. */
function element(xml: string, name: string): string | undefined {
  return xml.split(`<${name}>`, 2)[1]?.split('<', 1)[0]?.replaceAll('&amp;', '&');
}
