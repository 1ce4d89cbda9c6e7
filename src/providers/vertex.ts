/**
 * Google Vertex AI: Gemini in its own protocol, Claude in that of messages, and other models in chat completions, Mistral's at an
 * address of their own, under one project and location. A key of a service account signs its own access tokens (AIP-4111); any
 * other key is one of express mode.
 */

import { createSign } from 'node:crypto';
import { systemClock } from '../core/clock.ts';
import { type CredentialValue, keyCredential, type TokenSource } from '../core/credential.ts';
import { GatewayError } from '../core/errors.ts';
import { isObject, type Json, parseObject } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';
import type { Destination } from '../core/platform.ts';
import type { Adaptation, Dialect } from '../core/provider.ts';
import { adaptMistral } from './dialect/open-models.ts';
import { applyRules } from './dialect/rules.ts';
import { type DialectStep, dialect, dropField, removeField, setField } from './dialect/step.ts';
import {
  type BetaNames,
  COMMON_BETAS,
  forwardingBetas,
  refuseReferences,
  withoutRefusedFields,
} from './platform/anthropic-betas.ts';
import { createHeaderPlatform } from './platform/headers.ts';
import { vertexEmbeddings } from './platform/vertex-embeddings.ts';
import { providerType } from './type.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const TOKEN_LIFETIME_SECONDS = 3600;
/** A token is signed anew so long before its end. */
const RENEWAL_MARGIN_SECONDS = 300;
/** Version of the messages protocol where a request names none in its body. */
const MESSAGES_VERSION = 'vertex-2023-10-16';
const CLAUDE = 'claude-';
const MISTRAL = /^(?:mistral|ministral|codestral|devstral|magistral)-/;
/** Models of a family accept each other's thought signatures. */
const GEMINI_FAMILY = /^gemini-(?:2\.\d|\d+)/;
const GEMINI_PATH = '/v1beta/models/';
/** Locations that count the tokens of Claude, by Google's documentation of 2026: three regions, later those of several regions. */
const CLAUDE_COUNTS = /\/locations\/(?:asia-southeast1|europe-west1|us-east5|global|us|eu)(?:\/|$)/;
/** Names of a version that counting does not know. */
const VERSION_ALIAS = /@(?:default|latest)$/;
/** Members of a count of Gemini, in both spellings. */
const COUNTED = [
  'contents',
  'systemInstruction',
  'system_instruction',
  'tools',
  'generationConfig',
  'generation_config',
];
/** Tuned models are named by the number of their endpoint. */
const ENDPOINT_ID = /^\d+$/;

interface ServiceAccount {
  email: string;
  keyId: string;
  privateKey: string;
}

/** Signs a JSON Web Token that Google accepts as an access token, and signs it anew before its end. */
export function createSignedTokens(
  { email, keyId, privateKey }: ServiceAccount,
  now: () => number = systemClock.now,
): TokenSource {
  let token = '';
  let issuedAt = 0;
  let expiresAt = 0;

  function sign(): string {
    const claims = { iss: email, sub: email, scope: SCOPE, iat: issuedAt, exp: expiresAt };
    const payload = [{ alg: 'RS256', typ: 'JWT', kid: keyId }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${payload}.${createSign('RSA-SHA256').update(payload).sign(privateKey, 'base64url')}`;
  }

  return {
    id: `${email} ${keyId}`,
    token() {
      const seconds = Math.floor(now() / 1000);
      // A token of the future is refused: the clock was set back.
      if (seconds < issuedAt || seconds >= expiresAt - RENEWAL_MARGIN_SECONDS) {
        issuedAt = seconds;
        expiresAt = seconds + TOKEN_LIFETIME_SECONDS;
        token = sign();
      }
      return token;
    },
    // A new one would say the same.
    refused: () => false,
  };
}

function readKey(text: string): CredentialValue {
  if (!text.trimStart().startsWith('{')) return keyCredential(text);
  const { client_email: email, private_key_id: keyId, private_key: privateKey } = parseObject(text) ?? {};
  if (![email, keyId, privateKey].every((value) => typeof value === 'string'))
    throw new GatewayError(
      'invalid_request',
      'A key of Vertex AI in JSON must be that of a service account, with client_email, private_key_id and private_key.',
      { param: 'api_key' },
    );
  const source = createSignedTokens({ email, keyId, privateKey });
  try {
    source.token();
  } catch {
    throw new GatewayError('invalid_request', 'private_key in a key of Vertex AI is no RSA key in PEM.', {
      param: 'api_key',
    });
  }
  return { type: 'token', source };
}

function pathOf(destination: Destination): string {
  if (destination.type !== 'inference') return destination.path;
  const { protocol, operation, path, model, stream } = destination;
  if (protocol === 'chat' && !MISTRAL.test(model)) return `/endpoints/openapi${path}`;
  if (protocol === 'messages' && operation === 'count-tokens')
    return '/publishers/anthropic/models/count-tokens:rawPredict';
  const id = encodeURIComponent(model).replaceAll('%40', '@');
  const method = stream ? 'streamRawPredict' : 'rawPredict';
  if (protocol === 'chat') return `/publishers/mistralai/models/${id}:${method}`;
  if (protocol === 'messages') return `/publishers/anthropic/models/${id}:${method}`;
  const rest = path.slice(GEMINI_PATH.length);
  return ENDPOINT_ID.test(model) ? `/endpoints/${rest}` : `/publishers/google/models/${rest}`;
}

/** The protocol by the id, as Vertex AI names models: `claude-...`, `mistral-...`, `<vendor>/<model>-maas`, else Gemini. None for videos, whose requests are others here. */
function protocolsOf({ upstreamId, outputModalities }: CatalogModel): readonly string[] {
  if (outputModalities.includes('video')) return [];
  if (upstreamId.startsWith(CLAUDE)) return ['messages'];
  return [upstreamId.includes('/') || MISTRAL.test(upstreamId) ? 'chat' : 'generate'];
}

/** Calls and results have no ids here, each content has a role, and the service tier is no member of the body. Names have two spellings. */
const asGemini: DialectStep = (body, _rules, result) => {
  let calls = new Map<Json, number>();
  for (const content of [body.contents ?? []].flat() as Json[]) {
    if (!isObject(content)) continue;
    setField(content, 'role', content.role ?? 'user', result);
    if (Array.isArray(content.parts)) orderResults(content.parts, calls, result);
    calls = callsOf(content);
    for (const part of [content.parts ?? []].flat() as Json[]) {
      for (const member of ['functionCall', 'function_call', 'functionResponse', 'function_response'])
        if (isObject(part?.[member])) removeField(part[member], 'id', result);
    }
  }
  for (const member of ['serviceTier', 'service_tier']) dropField(body, member, result);
};

/** Places of the calls of a content by their ids. */
function callsOf({ parts }: Json): Map<Json, number> {
  const ids = ([parts ?? []].flat() as Json[]).map((part) => (part?.functionCall ?? part?.function_call)?.id);
  return new Map(ids.flatMap((id, place) => (typeof id === 'string' ? [[id, place]] : [])));
}

/** Brings results into the order of their calls, by which they are known without ids. */
function orderResults(parts: Json[], calls: ReadonlyMap<Json, number>, result: Adaptation): void {
  const callOf = (part: Json) => calls.get((part?.functionResponse ?? part?.function_response)?.id);
  const places = parts.flatMap((part, place) => (callOf(part) === undefined ? [] : [place]));
  const sorted = places
    .map((place) => parts[place])
    .toSorted((one, other) => (callOf(one) ?? 0) - (callOf(other) ?? 0));
  for (const [index, place] of places.entries()) setField(parts, String(place), sorted[index], result);
}

const BETAS: BetaNames = {
  ...COMMON_BETAS,
  'effort-2025-11-24': null,
  'fine-grained-tool-streaming-2025-05-14': null,
};

/** The model is in the address. */
const asClaude: DialectStep = (body, _rules, result) => {
  removeField(body, 'model', result);
  setField(body, 'anthropic_version', body.anthropic_version ?? MESSAGES_VERSION, result);
};

/** A count names the model in its body. */
function adaptClaudeCount(body: Json, model: string): boolean {
  body.model = model;
  body.anthropic_version ??= MESSAGES_VERSION;
  return true;
}

/** A count has the members of the request itself, and no others. */
function adaptGeminiCount(body: Json): boolean {
  const request = body.generateContentRequest ?? body.generate_content_request ?? body;
  const counted = COUNTED.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]]));
  for (const name in body) delete body[name];
  Object.assign(body, Object.fromEntries(counted));
  adaptGemini(body, {});
  return true;
}

const adaptGemini = dialect(asGemini);

const dialects: readonly Dialect[] = [
  {
    protocol: 'generate',
    adapt: adaptGemini,
    countsTokens: true,
    adaptCount: adaptGeminiCount,
    embeddings: vertexEmbeddings,
  },
  {
    protocol: 'messages',
    adapt: dialect(refuseReferences, withoutRefusedFields, asClaude),
    adaptCount: adaptClaudeCount,
    forwardHeader: forwardingBetas(BETAS),
    inlinesMedia: true,
  },
  { protocol: 'chat', rules: { tokenField: 'max_tokens', systemRole: 'system' }, adapt: dialect(applyRules) },
];
const mistralDialects = dialects.map((own) => (own.protocol === 'chat' ? { ...own, adapt: adaptMistral } : own));
const countingDialects = dialects.map((own) => (own.protocol === 'messages' ? { ...own, countsTokens: true } : own));

export const vertex = providerType({
  id: 'vertex',
  name: 'Google Vertex AI',
  dialects,
  dialectsOf({ upstreamId }, { baseUrl = '' }) {
    if (MISTRAL.test(upstreamId)) return mistralDialects;
    return CLAUDE_COUNTS.test(baseUrl) && !VERSION_ALIAS.test(upstreamId) ? countingDialects : dialects;
  },
  protocolsOf,
  environment: [],
  keyless: true,
  catalog: 'google',
  family: (model) => (model.startsWith(CLAUDE) ? CLAUDE : (GEMINI_FAMILY.exec(model)?.[0] ?? model)),
  identity: 'google',
  readKey,
  platform({ baseUrl }) {
    const { authorize } = createHeaderPlatform({ baseUrl, credential: (key) => ({ 'x-goog-api-key': key }) });
    return { url: (destination) => baseUrl + pathOf(destination), authorize };
  },
});
