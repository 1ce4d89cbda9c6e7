/** Identities of Microsoft Entra: applications with a secret, workloads of Kubernetes, and managed identities of Azure. */

import type { Json } from '../core/json/json.ts';
import { withoutEnd } from '../core/text.ts';
import { ask, createProbe, jsonOf, notSetUp, textMember } from './ask.ts';
import { type FindSource, type IdentityContext, type IdentitySource, readIdentityFile } from './source.ts';
import { bearerToken, FORM_HEADERS, formText, tokenOf } from './token.ts';

const CLOUDS = {
  public: { authority: 'https://login.microsoftonline.com', scope: 'https://cognitiveservices.azure.com/.default' },
  usgov: { authority: 'https://login.microsoftonline.us', scope: 'https://cognitiveservices.azure.us/.default' },
  china: { authority: 'https://login.chinacloudapi.cn', scope: 'https://cognitiveservices.azure.cn/.default' },
};

const SERVER = 'Microsoft Entra';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const TENANT = /^[\w.-]+$/;

const APP_SERVER = 'the identity endpoint of the app';
const APP_API_VERSION = '2019-08-01';

/** Addresses of identity endpoints of apps in some services. */
const LINK_LOCAL = /^169\.254(\.\d{1,3}){2}$/;

const INSTANCE_SERVER = 'the instance metadata service';
const INSTANCE_HOST = '169.254.169.254';
const INSTANCE_PATH = '/metadata/identity/oauth2/token';
const INSTANCE_API_VERSION = '2018-02-01';

export function azureSources(context: IdentityContext): FindSource {
  const { choice, settings, baseUrl } = context;
  const cloud = CLOUDS[cloudOf(baseUrl)];
  const scope = settings.scope ?? cloud.scope;
  const managed = createManagedSource(context, scope);
  return () => {
    switch (choice ?? settings.source) {
      case 'managed':
        return managed();
      case 'workload':
        return workloadSource(context, { ...cloud, scope });
      default:
        return secretSource(context, { ...cloud, scope });
    }
  };
}

/** By the host of the resource. */
function cloudOf(baseUrl: string): keyof typeof CLOUDS {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  if (host.endsWith('.azure.us')) return 'usgov';
  return host.endsWith('.azure.cn') ? 'china' : 'public';
}

interface Cloud {
  authority: string;
  scope: string;
}

function secretSource(context: IdentityContext, cloud: Cloud): IdentitySource {
  const { tenant_id: tenant = '', client_id: client = '', client_secret: secret = '' } = context.settings;
  return {
    name: 'application with a secret',
    issue: (signal) => askEntra(context, { cloud, tenant, client, proof: { client_secret: secret }, signal }),
  };
}

/** The token of the file is read anew each time, because it rotates. */
function workloadSource(context: IdentityContext, cloud: Cloud): IdentitySource {
  const { settings, variable } = context;
  const tenant = settings.tenant_id ?? variable('AZURE_TENANT_ID');
  const client = settings.client_id ?? variable('AZURE_CLIENT_ID');
  const file = variable('AZURE_FEDERATED_TOKEN_FILE');
  if (tenant === undefined || client === undefined || file === undefined)
    throw notSetUp('AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE have to be set');
  return {
    name: 'workload identity (AZURE_FEDERATED_TOKEN_FILE)',
    issue(signal) {
      const proof = { client_assertion_type: ASSERTION_TYPE, client_assertion: readIdentityFile(file).trim() };
      return askEntra(context, { cloud, tenant, client, proof, signal });
    },
  };
}

interface EntraQuestion {
  cloud: Cloud;
  tenant: string;
  client: string;
  /** Members of the form that authenticate the application. */
  proof: Record<string, string>;
  signal: AbortSignal;
}

async function askEntra(context: IdentityContext, { cloud, tenant, client, proof, signal }: EntraQuestion) {
  const { variable, clock, proxy } = context;
  if (!TENANT.test(tenant)) throw notSetUp('the tenant of Microsoft Entra is none');
  const host = withoutEnd(variable('AZURE_AUTHORITY_HOST') ?? cloud.authority, '/');
  const url = `${/^https?:\/\//.test(host) ? host : `https://${host}`}/${tenant}/oauth2/v2.0/token`;
  const body = formText({ grant_type: 'client_credentials', client_id: client, scope: cloud.scope, ...proof });
  const reply = await ask({ server: SERVER, url, method: 'POST', headers: FORM_HEADERS, body, signal, clock, proxy });
  return bearerToken(tokenOf(jsonOf(reply, SERVER), SERVER, clock.now()), SERVER);
}

/** The identity of an app (App Service, Container Apps, Functions), else that of a virtual machine. */
function createManagedSource({ settings, variable, clock }: IdentityContext, scope: string): FindSource {
  const probe = createProbe(clock);
  let isPresent = false;

  function addressOf(base: string, version: string): string {
    const url = new URL(base);
    url.searchParams.set('api-version', version);
    url.searchParams.set('resource', scope.replace(/\/\.default$/, ''));
    const client = settings.client_id ?? variable('AZURE_CLIENT_ID');
    if (client !== undefined) url.searchParams.set('client_id', client);
    return url.href;
  }

  function appSource(endpoint: string, secret: string): IdentitySource {
    return {
      name: 'managed identity of the app (IDENTITY_ENDPOINT)',
      async issue(signal) {
        if (!URL.canParse(endpoint)) throw notSetUp('IDENTITY_ENDPOINT is no address');
        const { hostname } = new URL(endpoint);
        const reply = await ask({
          server: APP_SERVER,
          url: addressOf(endpoint, APP_API_VERSION),
          headers: { 'x-identity-header': secret },
          signal,
          clock,
          plainHosts: LINK_LOCAL.test(hostname) ? [hostname] : [],
        });
        return managedToken(jsonOf(reply, APP_SERVER), APP_SERVER);
      },
    };
  }

  function managedToken(body: Json, server: string) {
    const end = Number(body.expires_on) * 1000;
    const { expiresAt } = Number.isFinite(end) && end > 0 ? { expiresAt: end } : tokenOf(body, server, clock.now());
    return bearerToken({ token: textMember(body, 'access_token', server), expiresAt }, server);
  }

  const instance: IdentitySource = {
    name: 'managed identity of the instance',
    async issue(signal) {
      const host = variable('AZURE_POD_IDENTITY_AUTHORITY_HOST') ?? `http://${INSTANCE_HOST}`;
      const base = withoutEnd(host, '/') + INSTANCE_PATH;
      const common = { server: INSTANCE_SERVER, signal, clock, plainHosts: [INSTANCE_HOST] };
      // Without the header of a question it refuses at once; a token may take longer.
      if (!isPresent) await probe((timeoutMs) => ask({ ...common, url: base, timeoutMs }));
      isPresent = true;
      const url = addressOf(base, INSTANCE_API_VERSION);
      const reply = await ask({ ...common, url, headers: { metadata: 'true' } });
      return managedToken(jsonOf(reply, INSTANCE_SERVER), INSTANCE_SERVER);
    },
  };

  return () => {
    const endpoint = variable('IDENTITY_ENDPOINT');
    const secret = variable('IDENTITY_HEADER');
    if (endpoint !== undefined && secret !== undefined) return appSource(endpoint, secret);
    if (endpoint !== undefined)
      throw notSetUp('IDENTITY_ENDPOINT without IDENTITY_HEADER, as of Azure Arc, is not supported');
    return instance;
  };
}
