/** Block encoder: parts of the hub to content blocks for an upstream of the messages protocol. */

import type { CallPart, MediaPart, Part, ReasoningPart, ResultPart } from '../../core/chat.ts';
import { customArguments, readArguments } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { isTextType, registeredType, sniffBase64 } from '../../core/mime.ts';
import type { Modality } from '../../core/model.ts';
import { ownState } from '../../core/opaque.ts';
import type { Target } from '../../core/operation.ts';
import { encodeMark } from './cache.ts';

const IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/** Blocks of all parts except calls and results, whose ids depend on their turn. */
export function encodePart(part: Exclude<Part, CallPart | ResultPart>, target: Target): Json[] {
  switch (part.type) {
    case 'text':
      return encodeText(part.text, part);
    case 'refusal':
      return encodeText(part.text, {});
    case 'media':
      return [{ ...encodeMedia(part, target), ...encodeMark(part.cache) }];
    case 'reasoning':
      return encodeReasoningPart(part, target);
    case 'native':
      return part.protocol === 'messages' ? [part.value] : [];
  }
}

/** Texts without a visible character are refused upstream. */
function encodeText(text: string, { cache }: { cache?: CallPart['cache'] }): Json[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...encodeMark(cache) }];
}

/** Thinking is sent only with state of the target; without state, or with other state, it would be refused. */
function encodeReasoningPart(part: ReasoningPart, { origin }: Target): Json[] {
  const state = ownState(part.opaque, origin);
  if (!state) return [];
  if (state.kind !== 'signature') return [{ type: 'redacted_thinking', data: state.value }];
  return [{ type: 'thinking', thinking: part.text, signature: state.value }];
}

/** Arguments that are not a JSON object are sent to the model unchanged, as text. */
export function encodeInput(call: CallPart): Json {
  if (call.custom) return customArguments(call);
  return readArguments(call.args) ?? { rawInvalidInput: call.args };
}

export function encodeCall(call: CallPart, id: string): Json {
  return { type: 'tool_use', id, name: call.name, input: encodeInput(call), ...encodeMark(call.cache) };
}

/** Content of a failed result without any, which would be refused. */
const NO_MESSAGE = 'The tool failed without a message.';

export function encodeResult(result: ResultPart, id: string, target: Target): Json {
  const blocks = result.parts.flatMap((part) =>
    part.type === 'call' || part.type === 'result' ? [] : encodePart(part, target),
  );
  const [only] = blocks;
  const plain = blocks.length === 1 && only.type === 'text' && !only.cache_control;
  const content = plain ? only.text : blocks.length > 0 ? blocks : result.isError ? NO_MESSAGE : '';
  const isError = result.isError && { is_error: true };
  return { type: 'tool_result', tool_use_id: id, content, ...isError, ...encodeMark(result.cache) };
}

const MODALITIES: Record<MediaPart['kind'], Modality> = {
  image: 'image',
  document: 'file',
  audio: 'audio',
  video: 'video',
};

function encodeMedia(part: MediaPart, { rules }: Target): Json {
  const readable = rules.inputModalities?.includes(MODALITIES[part.kind]) ?? true;
  switch (part.kind) {
    case 'image':
      if (!readable) throw unsupported('The model does not read images.');
      return { type: 'image', source: imageSource(part) };
    case 'document':
      if (!readable && part.text === undefined) throw unsupported('The model does not read documents.');
      return encodeDocument(part);
    case 'audio':
    case 'video':
      throw unsupported(`The model does not take ${part.kind}.`);
  }
}

/** The bytes tell which of the types it is: upstreams refuse an image of another type than said, which others read. */
function imageSource(part: MediaPart): Json {
  if (part.data === undefined) return referenceSource(part);
  const said = registeredType(part.mime);
  const isTaken = said === undefined || IMAGES.includes(said);
  const mime = (isTaken ? sniffBase64(part.data) : undefined) ?? said;
  if (mime === undefined || !IMAGES.includes(mime)) {
    throw unsupported(`The model takes images of type ${IMAGES.join(', ')}; this one is ${mime ?? 'of unknown type'}.`);
  }
  return { type: 'base64', media_type: mime, data: part.data };
}

function encodeDocument(part: MediaPart): Json {
  const document: Json = { type: 'document', source: documentSource(part) };
  if (part.title) document.title = part.title;
  if (part.context) document.context = part.context;
  if (part.cite) document.citations = { enabled: true };
  return document;
}

function documentSource(part: MediaPart): Json {
  if (part.text !== undefined) return plainText(part.text);
  if (part.data === undefined) return referenceSource(part);
  const mime = part.mime ?? sniffBase64(part.data) ?? 'application/pdf';
  if (mime === 'application/pdf') return { type: 'base64', media_type: mime, data: part.data };
  if (isTextType(mime)) {
    return plainText(Buffer.from(part.data, 'base64').toString('utf8'));
  }
  throw unsupported(`The model takes PDF and plain-text documents; this one is ${mime}.`);
}

function plainText(text: string): Json {
  return { type: 'text', media_type: 'text/plain', data: text };
}

/** Source of a URL. Refuses file ids: files of one provider don't exist at another. */
function referenceSource(part: MediaPart): Json {
  if (part.url === undefined) throw unsupported('A file id only works with the provider that holds the file.');
  if (!/^https:\/\//i.test(part.url)) throw unsupported('Media by URL must have an https address.');
  return { type: 'url', url: part.url };
}

function unsupported(message: string): GatewayError {
  return new GatewayError('unsupported_modality', message, { param: 'turns' });
}
