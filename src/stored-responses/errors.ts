/** Errors about stored responses. Those of other keys do not exist. */

import { GatewayError } from '../core/errors.ts';
import { MAX_FIELD_CHARACTERS, shortened } from '../core/lengths.ts';

/** Suggested delay before another background response. */
const OPEN_RETRY_MS = 10_000;

export function unknownPrevious(id: string, param = 'previous_response_id'): GatewayError {
  const message = `Previous response with id '${shown(id)}' not found.`;
  return new GatewayError('previous_response_not_found', message, { param });
}

/** `at` is the place of the reference. */
export function unknownItem(id: string, at: string): GatewayError {
  const message = `Item with id '${shown(id)}' not found. Items are found while their response is stored; with store set to false, send them whole.`;
  return new GatewayError('item_not_found', message, { param: at });
}

export function unknownResponse(id: string): GatewayError {
  return new GatewayError('response_not_found', `Response with id '${shown(id)}' not found.`);
}

export function unknownConversation(id: string): GatewayError {
  return new GatewayError('conversation_not_found', `Conversation with id '${shown(id)}' not found.`);
}

export function unknownConversationItem(item: string, id: string, param?: string): GatewayError {
  const message = `Item with id '${shown(item)}' not found in conversation '${shown(id)}'.`;
  return new GatewayError('conversation_not_found', message, param === undefined ? {} : { param });
}

/** Another response is being made in the conversation. */
export function lockedConversation(): GatewayError {
  const message = 'Another process is currently operating on this conversation. Please retry in a few seconds.';
  return new GatewayError('conversation_locked', message, { param: 'conversation' });
}

/** Items were deleted each time that the conversation was read. */
export function changingConversation(): GatewayError {
  return new GatewayError('unavailable', 'The conversation was changed while it was read; send the request again.');
}

export function duplicateItem(id: string, param: string): GatewayError {
  const message = `Duplicate item found with id ${shown(id)}: the conversation has it already, so it must not be sent again.`;
  return new GatewayError('invalid_request', message, { param });
}

/** A response in a conversation has only its own items. */
export function inConversation(error: GatewayError): GatewayError {
  const message = `${error.message} It belongs to a conversation; continue that with conversation instead.`;
  return new GatewayError(error.code, message, { param: error.param });
}

/** Error of a reference to content of an account that does not serve the model, or is not configured any more. */
export function keptElsewhere(error: GatewayError, provider: string): GatewayError {
  const message = `${error.message} It is kept by an account of the provider "${provider}", which alone can continue it.`;
  return new GatewayError(error.code, message, { param: error.param });
}

/** Error `rate_limit_exceeded`; `most`: limit of unfinished background responses of a key. */
export function tooManyOpen(most: number): GatewayError {
  const message = `This key has ${most} unfinished background responses, the most that it may have; wait for one, or cancel it.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfter: OPEN_RETRY_MS });
}

/** Error `rate_limit_exceeded`; `most`: limit of streams that a key reads at once. */
export function tooManyReaders(most: number): GatewayError {
  const message = `This key reads ${most} streams of background responses at once, the most that it may.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfter: OPEN_RETRY_MS });
}

/** Error `invalid_request`; `reason` is a whole sentence. */
export function noStream(reason: string): GatewayError {
  return new GatewayError('invalid_request', `${reason} Get it without stream.`, { param: 'stream' });
}

export function streamTooLong(): GatewayError {
  const message = 'The rest of the stream is not kept, because it is too long. Get the response without stream.';
  return new GatewayError('invalid_request', message, { param: 'starting_after' });
}

export function mayNotCancel(reason: 'foreground' | 'finished'): GatewayError {
  const message =
    reason === 'finished'
      ? 'Cannot cancel a response that has ended.'
      : 'Cannot cancel a response that was not created with background set to true.';
  return new GatewayError('invalid_request', message, { param: 'response_id' });
}

/** Error `context_length_exceeded` for a stored conversation that exceeds the limits. */
export function tooLong(param: string, limits: { maxItems: number; maxBytes: number }): GatewayError {
  const message = `The stored conversation has more than ${limits.maxItems} items or ${limits.maxBytes} bytes; begin a new one, e.g. with a summary.`;
  return new GatewayError('context_length_exceeded', message, { param });
}

export function notStored(error: GatewayError): GatewayError {
  const message = `${error.message} The gateway stores no responses: set store to false in the client, and send the whole conversation in input.`;
  return new GatewayError(error.code, message, { param: error.param });
}

function shown(id: string): string {
  return shortened(id, MAX_FIELD_CHARACTERS);
}
