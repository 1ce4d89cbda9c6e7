/** Deployments of a LiteLLM proxy at cloud platforms, whose address has a resource, a project or a region. */

import { awsDomainOf } from '../../core/aws-signature.ts';
import type { Json } from '../../core/json/json.ts';
import { readAzure } from './litellm-azure.ts';
import { type Deployment, referenceOf } from './litellm-references.ts';
import type { Note, PlatformDeployment } from './settings.ts';

/** Platform that LiteLLM's deployments are at. */
export interface DeploymentPlatform {
  /** Type of its providers. */
  type: string;
  /** Undefined with a note if it cannot be taken over. */
  read(model: string, deployment: Deployment): PlatformDeployment | undefined;
}

/** By LiteLLM's name of the vendor. */
export const PLATFORMS: Readonly<Record<string, DeploymentPlatform>> = {
  azure: { type: 'azure', read: (model, deployment) => readAzure('azure', model, deployment) },
  azure_ai: { type: 'azure', read: (model, deployment) => readAzure('azure_ai', model, deployment) },
  vertex_ai: { type: 'vertex', read: (model, { params, note }) => readVertex(model, params, note) },
  bedrock: { type: 'bedrock', read: readBedrock },
};

const VERTEX_SETTINGS = ['vertex_project', 'vertex_location', 'vertex_credentials'];
const VERTEX_DEFAULT_LOCATION = 'us-central1';
const VERTEX_KEY = 'VERTEX_KEY';
/** Locations of several regions. */
const MULTI_REGIONS = ['us', 'eu'];

function readVertex(model: string, params: Json, note: Note): PlatformDeployment | undefined {
  const project = referenceOf(params.vertex_project);
  if (project === undefined) {
    note('litellm_params.vertex_project', 'is missing: the address of Vertex AI has the project');
    return undefined;
  }
  const location = referenceOf(params.vertex_location) ?? VERTEX_DEFAULT_LOCATION;
  const variable = /^\$\{(\w+)\}$/.exec(referenceOf(params.vertex_credentials) ?? '')?.[1] ?? VERTEX_KEY;
  const advice = `set ${variable}_FILE to the JSON file of a key of a service account, or credentials: auto in place of api_key`;
  note('litellm_params.vertex_credentials', advice);
  const host = MULTI_REGIONS.includes(location)
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location === 'global' ? '' : `${location}-`}aiplatform.googleapis.com`;
  const path = `/v1/projects/${project}/locations/${location}`;
  return {
    model,
    settings: { base_url: `https://${host}${path}`, api_key: `\${${variable}}` },
    known: VERTEX_SETTINGS,
  };
}

const REGION_VARIABLE = 'AWS_REGION';
const KEY_VARIABLE = 'AWS_BEARER_TOKEN_BEDROCK';
const BEDROCK_SETTINGS = ['aws_region_name', 'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'];
/** LiteLLM's words before an id: the way in which it asks, and the region. */
const BEDROCK_PREFIX = /^(?:(?:converse|converse_like|invoke)\/)?(?:([a-z]{2,4}(?:-[a-z]+)+-\d)\/)?/;
/** An ARN, which names the region of its profile. */
const ARN = /^arn:(?:[\w-]+:bedrock:([a-z0-9-]+):)?/;

function readBedrock(name: string, deployment: Deployment): PlatformDeployment {
  const { params, note } = deployment;
  const [prefix = '', named] = BEDROCK_PREFIX.exec(name) ?? [];
  const model = name.slice(prefix.length);
  const arn = ARN.exec(model);
  if (arn)
    note('litellm_params.model', 'is named by an ARN: give the model its base, such as anthropic/claude-sonnet-4-5');
  const region = referenceOf(params.aws_region_name) ?? named ?? arn?.[1] ?? `\${${REGION_VARIABLE}}`;
  return {
    model,
    settings: { base_url: `https://bedrock-runtime.${region}.${awsDomainOf(region)}`, api_key: bedrockKey(deployment) },
    known: BEDROCK_SETTINGS,
  };
}

function bedrockKey({ params, note, secretOf }: Deployment): string {
  if (params.aws_access_key_id == null || params.aws_secret_access_key == null) {
    note(
      'litellm_params.api_key',
      `is set to ${KEY_VARIABLE}: for roles and profiles, set credentials: auto in its place`,
    );
    return `\${${KEY_VARIABLE}}`;
  }
  return ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token']
    .filter((name) => params[name] != null)
    .map((name) => secretOf(name, name.toUpperCase()))
    .join(':');
}
