/**
 * Amazon Bedrock: Claude by InvokeModel in the protocol of messages, OpenAI's models in Responses and chat completions, all others by
 * Converse. An API key of Bedrock is sent as it is; `<access key id>:<secret access key>`, with `:<session token>` for temporary keys, signs
 * requests.
 */

import { authorizationOf, clockOffsetOf, encodeAll, regionIn, sha256Of, stampOf } from '../core/aws-signature.ts';
import { type CredentialValue, type KeyPair, keyCredential } from '../core/credential.ts';
import { type ErrorCode, GatewayError, REFUSED_TIME_NAME, upstreamMessage } from '../core/errors.ts';
import type { Fields } from '../core/fields.ts';
import { isObject, type Json } from '../core/json/json.ts';
import type { CatalogModel, ModelRules } from '../core/model.ts';
import { bytesOf, type Destination, type OutgoingRequest, type UpstreamErrorResponse } from '../core/platform.ts';
import type { Adaptation, Dialect, ForwardedHeader, ProviderSettings } from '../core/provider.ts';
import { withoutStorage, withoutWebSearch } from './dialect/fields.ts';
import { adaptOpenai, OPENAI_RULES } from './dialect/open-models.ts';
import { applyRules } from './dialect/rules.ts';
import { type DialectStep, dialect, markDropped, removeField, setField } from './dialect/step.ts';
import {
  BETA_HEADER,
  type BetaNames,
  betasFor,
  COMMON_BETAS,
  listOf,
  refuseReferences,
  withoutRefusedFields,
} from './platform/anthropic-betas.ts';
import { createHeaderPlatform } from './platform/headers.ts';
import { providerType } from './type.ts';

/** Version of the messages protocol where a request names none in its body. */
const MESSAGES_VERSION = 'bedrock-2023-05-31';
const DEFAULT_REGION = 'us-east-1';
const SERVICE = 'bedrock';
/** A correction below this is none. */
const MIN_CORRECTION_MS = 5000;
/** Time in which requests may have been on their way with the time before a correction. */
const CORRECTION_PERIOD_MS = 60_000;
/** Start of long-term and temporary access key ids; the latter need a session token. */
const ACCESS_KEY_ID = /^A[SK]IA/;
const TEMPORARY_KEY_ID = /^ASIA/;
const ACCESS_KEY = /^(\w+):([^:\s]+)(?::(\S*))?$/;
const CLAUDE = /(?:^|[./])anthropic\./;
const OPENAI = /(?:^|[./])openai\./;
/** OpenAI's models with open weights, which have the older names of fields and no Responses. */
const OPEN_WEIGHTS = /[./]gpt-oss/;

const BETAS: BetaNames = {
  ...COMMON_BETAS,
  'per-turn-control-2026-07-01': null,
  'web-search-2025-03-05': null,
};

const EAGER_BETA = 'fine-grained-tool-streaming-2025-05-14';

/** Codes of errors by their names, in lower case and without `Exception`; absent ones are known by their status. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  accessdenied: 'upstream_error',
  expiredtoken: 'upstream_error',
  incompletesignature: 'upstream_error',
  internalserver: 'upstream_error',
  invalidsignature: 'upstream_error',
  modelerror: 'upstream_error',
  modelnotready: 'overloaded',
  modelstreamerror: 'upstream_error',
  modeltimeout: 'timeout',
  requestexpired: 'upstream_error',
  requestinthefuture: 'upstream_error',
  requesttimetooskewed: 'upstream_error',
  resourcenotfound: 'model_not_found',
  servicequotaexceeded: 'rate_limit_exceeded',
  serviceunavailable: 'overloaded',
  throttling: 'rate_limit_exceeded',
  unrecognizedclient: 'upstream_error',
  validation: 'invalid_request',
};
/** Errors of the gateway's account, whose text never reaches a client. */
const ACCOUNT_ERRORS = new Set([
  'accessdenied',
  'expiredtoken',
  'incompletesignature',
  'invalidsignature',
  'requestexpired',
  'requestinthefuture',
  'requesttimetooskewed',
  'unrecognizedclient',
]);
/** Words about an id that the region does not have, or has in an inference profile alone. */
const UNKNOWN_MODEL_PATTERN = /model identifier is invalid|on-demand throughput/;
const CONTEXT_LENGTH_PATTERN = /(input|prompt) is too long|context (window|limit|length)/i;

function readKey(text: string): CredentialValue {
  const key = text.trim();
  if (!ACCESS_KEY_ID.test(key)) return keyCredential(key);
  const [, id, secret, sessionToken] = ACCESS_KEY.exec(key) ?? [];
  if (id === undefined || secret === undefined || (TEMPORARY_KEY_ID.test(id) && !sessionToken))
    throw new GatewayError(
      'invalid_request',
      'Access keys of AWS must be <access key id>:<secret access key>, and those that begin with ASIA need :<session token>.',
      { param: 'api_key' },
    );
  return { type: 'key-pair', id, secret, ...(sessionToken && { sessionToken }) };
}

/** The request with its signature. Only headers that no proxy changes are signed. */
function signed(request: OutgoingRequest, { id, secret, sessionToken }: KeyPair, now: number): OutgoingRequest {
  const { host, pathname, search } = new URL(request.url);
  const stamp = stampOf(now);
  const region = regionIn(request.url) ?? DEFAULT_REGION;
  const own = { 'x-amz-date': stamp, ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }) };
  const headers = Object.entries({ host, ...own });
  // Segments that are encoded in the address are encoded once more in the canonical path.
  const path = pathname.split('/').map(encodeAll).join('/');
  const sha256 = sha256Of(bytesOf(request.body));
  const canonical = { method: request.method, path, query: search.slice(1), headers, sha256 };
  const authorization = authorizationOf(canonical, { id, secret }, { stamp, region, service: SERVICE });
  return { ...request, headers: { ...own, authorization, ...request.headers } };
}

function pathOf(destination: Destination): string {
  if (destination.type !== 'inference') return destination.path;
  const { protocol, path, model, stream } = destination;
  if (protocol === 'chat' || protocol === 'responses') return `/openai/v1${path}`;
  if (protocol === 'converse') return path;
  return `/model/${encodeAll(model)}/${stream ? 'invoke-with-response-stream' : 'invoke'}`;
}

/** The vendor is known by the base, or by the id, behind a region's prefix or in an ARN; a base may have the facts of a model alone. */
function vendorOf(upstreamId: string, base: string | undefined): 'anthropic' | 'openai' | undefined {
  const vendor = base?.split('/', 1)[0];
  if (vendor === 'anthropic' || vendor === 'openai') return vendor;
  if (CLAUDE.test(upstreamId)) return 'anthropic';
  return OPENAI.test(upstreamId) ? 'openai' : undefined;
}

/** Whether it is a model of OpenAI with the newer names of fields and Responses. */
function isOpenaiHosted({ upstreamId, base = '' }: CatalogModel): boolean {
  return vendorOf(upstreamId, base) === 'openai' && !OPEN_WEIGHTS.test(base) && !OPEN_WEIGHTS.test(upstreamId);
}

/** The rule `protocols` decides for a profile that has neither a base nor a vendor in its ARN. */
function protocolsOf(model: CatalogModel): readonly string[] {
  if (model.rules.protocols) return dialects.map(({ protocol }) => protocol);
  if (isOpenaiHosted(model)) return ['responses', 'chat'];
  switch (vendorOf(model.upstreamId, model.base)) {
    case 'anthropic':
      return ['messages'];
    case 'openai':
      return ['chat'];
    default:
      return ['converse'];
  }
}

/** The model and whether the response is streamed are in the address. */
const asInvocation: DialectStep = (body, _rules, result) => {
  removeField(body, 'model', result);
  removeField(body, 'stream', result);
  setField(body, 'anthropic_version', body.anthropic_version ?? MESSAGES_VERSION, result);
};
const invocation = dialect(refuseReferences, withoutRefusedFields, asInvocation);

/** Betas are a member of the body here. */
function adaptMessages(body: Json, rules: ModelRules, headers: Fields = {}): Adaptation {
  const result = invocation(body, rules);
  const own = betasFor(BETAS, String(body.anthropic_beta ?? ''));
  for (const name of own.dropped) markDropped(name, result);
  const sent = [...own.sent, ...betasFor(BETAS, headers[BETA_HEADER] ?? '').sent, ...eagerBeta(body, result)];
  removeField(body, 'anthropic_beta', result);
  if (sent.length > 0) setField(body, 'anthropic_beta', [...new Set(sent)], result);
  return result;
}

/** The member of a tool is refused here; its older beta, which is for all tools, is not. */
function eagerBeta(body: Json, result: Adaptation): string[] {
  const tools = listOf(body.tools).filter(isObject);
  const isEager = tools.some((tool) => tool.eager_input_streaming === true);
  for (const tool of tools) removeField(tool, 'eager_input_streaming', result);
  return isEager ? [EAGER_BETA] : [];
}

/** Betas go out in the body, and the version is that of the platform. */
function forwardHeader(name: string, value: string): ForwardedHeader {
  const dropped = name === BETA_HEADER ? betasFor(BETAS, value).dropped : name === 'anthropic-version' ? [] : [name];
  return { value: undefined, dropped };
}

/** Name of an error: in a header, in the form `ThrottlingException:<address>`, or in the body, behind a namespace and `#`. */
function nameOf({ headers, body }: UpstreamErrorResponse): string {
  const name = headers['x-amzn-errortype'] ?? body?.__type;
  return typeof name === 'string' ? (name.split(/[:,]/, 1)[0]?.split('#').at(-1) ?? '') : '';
}

function decodeError(response: UpstreamErrorResponse): GatewayError | undefined {
  const { status, body } = response;
  const name = nameOf(response);
  const kind = name.toLowerCase().replace(/exception$/, '');
  const code = Object.hasOwn(CODES, kind) ? CODES[kind] : undefined;
  if (code === undefined) return undefined;
  const text = textOf(body);
  if (ACCOUNT_ERRORS.has(kind) || text === undefined)
    return new GatewayError(code, 'The upstream refused or failed to answer.', {
      upstreamStatus: status,
      upstreamCode: name,
    });
  return new GatewayError(code === 'invalid_request' ? codeOfInvalid(text) : code, upstreamMessage(text), {
    upstreamStatus: status,
  });
}

/** Text of an error of AWS, or of one in the form of OpenAI. */
function textOf(body: Json): string | undefined {
  const text = body?.message ?? body?.Message ?? body?.error?.message;
  return typeof text === 'string' ? text : undefined;
}

function codeOfInvalid(text: string): ErrorCode {
  if (UNKNOWN_MODEL_PATTERN.test(text)) return 'model_not_found';
  return CONTEXT_LENGTH_PATTERN.test(text) ? 'context_length_exceeded' : 'invalid_request';
}

const dialects: readonly Dialect[] = [
  { protocol: 'messages', adapt: adaptMessages, forwardHeader, inlinesMedia: true },
  { protocol: 'responses', rules: OPENAI_RULES, adapt: dialect(withoutWebSearch, withoutStorage), inlinesMedia: true },
  { protocol: 'chat', rules: OPENAI_RULES, adapt: adaptOpenai, inlinesMedia: true },
  { protocol: 'converse', inlinesMedia: true },
];

/** Open models. */
const otherDialects = dialects.map((own): Dialect => {
  if (own.protocol !== 'chat') return own;
  return { ...own, rules: { tokenField: 'max_tokens', systemRole: 'system' }, adapt: dialect(applyRules) };
});

/** Responses stay at the platform only where the configuration says that it keeps them. */
const adaptKeptResponses = dialect(withoutWebSearch);

function dialectsOf(model: CatalogModel, { keepsResponses = false }: ProviderSettings): readonly Dialect[] {
  const own = isOpenaiHosted(model) ? dialects : otherDialects;
  if (!keepsResponses) return own;
  return own.map((one) => (one.protocol === 'responses' ? { ...one, adapt: adaptKeptResponses } : one));
}

export const bedrock = providerType({
  id: 'bedrock',
  name: 'Amazon Bedrock',
  dialects,
  dialectsOf,
  protocolsOf,
  family: (model, base) => (vendorOf(model, base) === 'anthropic' ? 'claude' : model),
  environment: [],
  keyless: true,
  version: /\/openai\/v1$/,
  identity: 'aws',
  readKey,
  platform({ baseUrl }) {
    const { authorize } = createHeaderPlatform({ baseUrl });
    /** Milliseconds by which the clock of the upstream is ahead, since it refused the time of a request. */
    let correction = { offset: 0, at: Number.NEGATIVE_INFINITY };
    return {
      url: (destination) => baseUrl + pathOf(destination),
      authorize: (request, value, now) =>
        value.type === 'key-pair' ? signed(request, value, now + correction.offset) : authorize(request, value, now),
      framing: 'aws-event-stream',
      decodeError(response) {
        const { status, headers, body, now } = response;
        if (now === undefined) return decodeError(response);
        const refusal = { status, name: nameOf(response), message: textOf(body), date: headers.date };
        const offset = clockOffsetOf(refusal, now);
        if (offset === undefined) return decodeError(response);
        if (Math.abs(offset - correction.offset) >= MIN_CORRECTION_MS) correction = { offset, at: now };
        // It refuses the corrected time, too, so the reason is another one.
        else if (now - correction.at > CORRECTION_PERIOD_MS) return decodeError(response);
        return new GatewayError('upstream_error', 'The upstream refused the time of the request.', {
          upstreamStatus: status,
          upstreamCode: REFUSED_TIME_NAME,
        });
      },
    };
  },
});
