/** `POST /v1/videos`: reads, validates and stores a task, without an upstream call. */

import type { AdmissionControl } from '../../accounting/admission.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Fields } from '../../core/fields.ts';
import { readBody, yieldIfLarge } from '../../core/json/body.ts';
import type { Json } from '../../core/json/json.ts';
import type { Key } from '../../keys/store.ts';
import type { VideoTask } from '../../records/video-task.ts';
import { endpointOf } from '../../routing/model-directory.ts';
import type { Creation } from '../../videos/creation.ts';
import { readForm } from '../../videos/form.ts';
import { checkShape, readCreation } from '../../videos/request.ts';
import { videoNames } from '../../videos/request-schema.ts';
import type { RequestContext } from '../request-context.ts';
import type { VideoOptions } from './options.ts';

const MAX_IDEMPOTENCY_KEY_CHARACTERS = 255;
const MAX_HEADER_CHARACTERS = 1000;

/** Creates a task. A repeated `idempotency-key` returns the earlier task. */
export async function handleCreation(
  { request, body, headers: responseHeaders }: RequestContext,
  key: Key,
  { admission, ...options }: VideoOptions & { admission: AdmissionControl },
): Promise<{ task: VideoTask; headers: Record<string, string> }> {
  const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
  const retried = Number(request.headers['x-stainless-retry-count']) >= 1;
  const creation = await readRequest({ headers: request.headers, body }, key, options);
  responseHeaders.setRateLimit(() => admission.rateLimitHeaders(key, creation.model.id));
  const { task, replayed, headers } = await options.videos.create({
    owner: key.id,
    tags: key.tags,
    creation,
    idempotencyKey,
    retried,
    reserve: (wanted) => admission.reserve(key, wanted),
  });
  const dropped = headerValue(creation.dropped.join(', '));
  return {
    task,
    headers: {
      ...headers,
      ...(replayed && { 'idempotent-replayed': 'true' }),
      ...(dropped !== '' && { 'x-polygate-dropped': dropped }),
    },
  };
}

/** Field names as a header value: truncated, with characters outside printable ASCII replaced. */
function headerValue(text: string): string {
  return text.slice(0, MAX_HEADER_CHARACTERS).replace(/[^\x20-\x7e]/g, '?');
}

async function readRequest(sent: SentRequest, key: Key, options: VideoOptions): Promise<Creation> {
  const fields = await readFields(sent);
  await yieldIfLarge(sent.body.length);
  const body = checkShape(fields);
  const { model, provider } = await endpointOf(options.models(), body.model);
  if (!key.allows(model.id)) {
    throw new GatewayError('permission_denied', `This key may not use the model "${model.id}".`, { param: 'model' });
  }
  const creation = readCreation(body, provider.video ? model : { ...model, video: undefined }, options.policy);
  provider.video?.checkRequest?.(creation.request);
  const { callbackUrl } = creation;
  if (callbackUrl === undefined) return creation;
  return { ...creation, callbackUrl: await options.checkCallbackUrl(callbackUrl, key) };
}

interface SentRequest {
  headers: Fields;
  body: Buffer;
}

async function readFields({ headers, body: bytes }: SentRequest): Promise<Record<string, Json>> {
  const type = headers['content-type'] ?? 'application/json';
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new GatewayError('unsupported_media_type', `Content-Encoding "${encoding}" is not accepted.`);
  }
  if (/^multipart\/form-data\s*(;|$)/i.test(type)) return readForm(bytes, type);
  if (/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return readBody(bytes, { names: videoNames });
  throw new GatewayError(
    'unsupported_media_type',
    `Content-Type "${type}" is not accepted; send application/json or multipart/form-data.`,
  );
}

function readIdempotencyKey(header: string | undefined): string | undefined {
  if (!header) return undefined;
  if (header.length <= MAX_IDEMPOTENCY_KEY_CHARACTERS) return header;
  throw new GatewayError(
    'invalid_request',
    `Idempotency-Key must be one text of at most ${MAX_IDEMPOTENCY_KEY_CHARACTERS} characters.`,
    {
      param: 'Idempotency-Key',
    },
  );
}
