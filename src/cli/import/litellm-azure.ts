/** Deployments of a LiteLLM proxy at Azure OpenAI and Microsoft Foundry. */

import { bundledEntry } from '../../catalog/bundled.ts';
import { withoutEnd } from '../../core/text.ts';
import { type Deployment, referenceOf } from './litellm-references.ts';
import { type Note, type PlatformDeployment, readAddress } from './settings.ts';

const TYPE = 'azure';
/** Settings of an identity at Entra ID. */
const IDENTITY = ['azure_ad_token', 'tenant_id', 'client_id', 'client_secret', 'azure_ad_token_provider'];
const SETTINGS = ['api_version', ...IDENTITY];
/** Query parameter of an address. */
const VERSION = 'api-version';
const DATED = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/;
/** Hosts of resources, which have the v1 API. */
const RESOURCE = /\.(?:openai|services\.ai|cognitiveservices)\.azure\.(?:com|us|cn)$/;
/** Hosts of Foundry's endpoints for one model, which are servers of chat completions. */
const ENDPOINT_OF_MODEL = /\.(?:models|inference)\.(?:ai|ml)\.azure\.com$/;
/** LiteLLM's words before a deployment, which choose its own code. */
const PREFIX = /^(?:o_series|gpt5_series|responses|claude)\//;
const VENDORS = ['openai', 'anthropic', 'xai', 'deepseek', 'mistral', 'cohere'];
const REFERENCE = /^\$\{\w+\}/;

/** `vendor` is LiteLLM's: `azure` or `azure_ai`, whose usual variables differ. */
export function readAzure(vendor: string, name: string, deployment: Deployment): PlatformDeployment | undefined {
  const { params, info, note } = deployment;
  const given = referenceOf(params.api_base || params.base_url);
  if (given === undefined) {
    note('litellm_params.model', `"${params.model}" needs an api_base`);
    return undefined;
  }
  const [address = '', query = ''] = given.split('?', 2);
  const url = readAddress(TYPE, address, (advice) => note('litellm_params.api_base', advice));
  if (url === undefined) return undefined;
  const host = URL.parse(url)?.hostname ?? '';
  const asked = new URLSearchParams(query);
  for (const parameter of new Set(asked.keys()))
    if (parameter !== VERSION)
      note('litellm_params.api_base', `has the query parameter "${parameter}", which is left out`);
  const apiKey = keyOf(deployment, `${vendor.toUpperCase()}_API_KEY`);
  if (ENDPOINT_OF_MODEL.test(host)) {
    const settings = { base_url: withoutEnd(withoutEnd(url, '/'), '/chat/completions'), ...apiKey };
    return { type: 'openai-compatible', model: name, settings, known: IDENTITY };
  }
  const model = name.replace(PREFIX, '');
  return {
    model,
    settings: {
      base_url: RESOURCE.test(host) ? new URL(url).origin : withoutEnd(url, '/'),
      ...apiKey,
      ...versionOf(host, url, { version: params.api_version ?? asked.get(VERSION), note }),
      models: model.includes('*') ? 'any' : [{ id: model, ...baseOf(model, info?.base_model, note) }],
    },
    known: SETTINGS,
  };
}

function keyOf({ params, note, secretOf }: Deployment, variable: string): { api_key: string } {
  for (const name of IDENTITY)
    if (params[name] != null)
      note(`litellm_params.${name}`, 'for an identity of Microsoft Entra, set credentials in place of api_key');
  return { api_key: params.api_key == null ? `\${${variable}}` : secretOf('api_key', variable) };
}

/** Resources have the v1 API, and a gateway in front of them may have the older one alone. */
function versionOf(
  host: string,
  url: string,
  { version, note }: { version: unknown; note: Note },
): { api_version?: string } {
  if (version == null) return {};
  if (RESOURCE.test(host) || REFERENCE.test(url)) {
    note('litellm_params.api_version', 'is not needed: the v1 API is asked, which has no versions');
    return {};
  }
  if (DATED.test(String(version))) return { api_version: String(version) };
  note('litellm_params.api_version', `"${version}" is no dated version: the v1 API is asked`);
  return {};
}

/** The model of a deployment: LiteLLM's own setting, else the name, by which LiteLLM finds its price. */
function baseOf(deployment: string, given: unknown, note: Note): { base?: string } {
  const name = String(given ?? deployment);
  const id = name.slice(name.lastIndexOf('/') + 1);
  const vendor = VENDORS.find((one) => bundledEntry({ id: '', base: `${one}/${id}` }, one));
  if (vendor !== undefined) return { base: `${vendor}/${id}` };
  if (given != null)
    note('model_info.base_model', `"${given}" is no model of the catalog: give the deployment pricing`);
  return {};
}
