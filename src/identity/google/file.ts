/** Credentials files of Google: service accounts, users, external accounts (workload identity federation), and accounts that they act as. */

import { isObject, type Json, parseObject } from '../../core/json/json.ts';
import { ask, assertHeaderText, jsonOf, notSetUp, textMember, unavailable } from '../ask.ts';
import { type IdentityContext, type IdentitySource, type IssuedCredential, readIdentityFile } from '../source.ts';
import { bearerToken, FORM_HEADERS, formText, tokenOf } from '../token.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const TOKEN_URI = 'https://oauth2.googleapis.com/token';
const EXCHANGE_URI = 'https://sts.googleapis.com/v1/token';
const EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const OAUTH = 'the token endpoint of Google';
const EXCHANGE = 'the token exchange of Google';
const IMPERSONATION = 'the service for acting as a service account';
const SUBJECT = 'the source of the subject token';
const QUOTA_PROJECT = 'GOOGLE_CLOUD_QUOTA_PROJECT';
const LIFETIME_SECONDS = 3600;
/** Other platforms issue subject tokens at this address. */
const METADATA_HOSTS = ['169.254.169.254', 'metadata.google.internal'];

interface PlainToken {
  token: string;
  expiresAt: number;
}

interface FileContext extends IdentityContext {
  /** Name of the file in messages. */
  place: string;
}

type IssueToken = (signal: AbortSignal) => Promise<PlainToken>;

/** The source of a file's text; `place` names it for operators. */
export function fileSource(context: IdentityContext, text: string, place: string): IdentitySource {
  const file = parseObject(text);
  if (!file) throw notSetUp(`${place} is no JSON object`);
  const issue = issuerOf(file, { ...context, place });
  const more = quotaHeader(file, context.variable(QUOTA_PROJECT), place);
  return {
    name: `${file.type} of ${place}`,
    async issue(signal): Promise<IssuedCredential> {
      return bearerToken(await issue(signal), place, more);
    },
  };
}

/** The header that names the project whose quota is used: that of the variable, else that of the file. */
function quotaHeader(file: Json, named: string | undefined, place: string): Record<string, string> | undefined {
  const project = named ?? file.quota_project_id;
  if (typeof project !== 'string') return undefined;
  assertHeaderText(project, named === undefined ? `quota_project_id of ${place}` : QUOTA_PROJECT);
  return { 'x-goog-user-project': project };
}

function issuerOf(file: Json, context: FileContext): IssueToken {
  switch (file.type) {
    case 'service_account':
      return () => signedToken(file, context);
    case 'authorized_user':
      return (signal) => userToken(file, context, signal);
    case 'external_account':
      checkSubject(file, context);
      return (signal) => externalToken(file, context, signal);
    case 'impersonated_service_account': {
      const source = isObject(file.source_credentials) ? file.source_credentials : {};
      const issue = issuerOf(source, context);
      return async (signal) => actAs(file, context, (await issue(signal)).token, signal);
    }
    default:
      throw notSetUp(`${context.place} is not of a type that is supported`);
  }
}

/** A service account signs its tokens itself. */
async function signedToken(file: Json, { readKey, place }: FileContext): Promise<PlainToken> {
  let value: ReturnType<NonNullable<typeof readKey>> | undefined;
  try {
    value = readKey?.(JSON.stringify(file));
  } catch {}
  if (value?.type !== 'token') throw notSetUp(`${place} is no valid key of a service account`);
  const token = await value.source.token();
  const claims = parseObject(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return { token, expiresAt: Number(claims?.exp) * 1000 };
}

async function userToken(file: Json, context: FileContext, signal: AbortSignal): Promise<PlainToken> {
  const body = formText({
    grant_type: 'refresh_token',
    client_id: needed(file, 'client_id', context),
    client_secret: needed(file, 'client_secret', context),
    refresh_token: needed(file, 'refresh_token', context),
  });
  const url = optional(file, 'token_uri') ?? TOKEN_URI;
  const { clock, proxy } = context;
  const reply = await ask({ server: OAUTH, url, method: 'POST', headers: FORM_HEADERS, body, signal, clock, proxy });
  return tokenOf(jsonOf(reply, OAUTH), OAUTH, clock.now());
}

async function externalToken(file: Json, context: FileContext, signal: AbortSignal): Promise<PlainToken> {
  const { clock, proxy } = context;
  const clientId = optional(file, 'client_id');
  const project = optional(file, 'workforce_pool_user_project');
  const body = formText({
    grant_type: EXCHANGE_GRANT,
    audience: needed(file, 'audience', context),
    scope: SCOPE,
    requested_token_type: ACCESS_TOKEN_TYPE,
    subject_token: await subjectToken(file.credential_source, context, signal),
    subject_token_type: needed(file, 'subject_token_type', context),
    options: clientId === undefined && project !== undefined ? JSON.stringify({ userProject: project }) : undefined,
  });
  const client = Buffer.from(`${clientId}:${optional(file, 'client_secret') ?? ''}`).toString('base64');
  const reply = await ask({
    server: EXCHANGE,
    url: optional(file, 'token_url') ?? EXCHANGE_URI,
    method: 'POST',
    headers: { ...FORM_HEADERS, ...(clientId !== undefined && { authorization: `Basic ${client}` }) },
    body,
    signal,
    clock,
    proxy,
  });
  const exchanged = tokenOf(jsonOf(reply, EXCHANGE), EXCHANGE, clock.now());
  if (file.service_account_impersonation_url === undefined) return exchanged;
  return actAs(file, context, exchanged.token, signal);
}

function checkSubject({ credential_source: source }: Json, { place }: FileContext): void {
  if (!isObject(source) || (typeof source.file === 'string') === (typeof source.url === 'string'))
    throw notSetUp(`${place} has a credential_source that is not supported: it must be a file or a url`);
}

/** A file is read anew each time, because its token rotates. */
async function subjectToken(source: Json, context: FileContext, signal: AbortSignal): Promise<string> {
  let text: string;
  if (typeof source.file === 'string') text = readIdentityFile(source.file);
  else {
    const { clock, proxy } = context;
    const headers = isObject(source.headers) ? textsOf(source.headers) : {};
    const plainHosts = METADATA_HOSTS;
    const reply = await ask({ server: SUBJECT, url: source.url, headers, signal, clock, proxy, plainHosts });
    if (reply.status !== 200) throw unavailable(`${SUBJECT} refused with status ${reply.status}`);
    text = reply.text;
  }
  if (source.format?.type !== 'json') return text.trim();
  const token = parseObject(text)?.[source.format.subject_token_field_name];
  if (typeof token !== 'string') throw unavailable(`${SUBJECT} has no token in its JSON`);
  return token;
}

/** The token of a service account that another account acts as. */
async function actAs(file: Json, context: FileContext, token: string, signal: AbortSignal): Promise<PlainToken> {
  const { clock, proxy } = context;
  const lifetime = Number(file.service_account_impersonation?.token_lifetime_seconds ?? LIFETIME_SECONDS);
  const delegates = Array.isArray(file.delegates) ? file.delegates : undefined;
  const reply = await ask({
    server: IMPERSONATION,
    url: needed(file, 'service_account_impersonation_url', context),
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ delegates, scope: [SCOPE], lifetime: `${lifetime}s` }),
    signal,
    clock,
    proxy,
  });
  const body = jsonOf(reply, IMPERSONATION);
  const expiresAt = Date.parse(textMember(body, 'expireTime', IMPERSONATION));
  return { token: textMember(body, 'accessToken', IMPERSONATION), expiresAt };
}

function needed(file: Json, name: string, { place }: FileContext): string {
  const value = optional(file, name);
  if (value === undefined) throw notSetUp(`${place} has no ${name}`);
  return value;
}

function optional(file: Json, name: string): string | undefined {
  const value = file[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textsOf(headers: Record<string, Json>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
