/** Responses in the background: the object of one that waits, the request that is run later, and the object at its end. */

import type { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { encodeErrorMember } from './errors.ts';
import { echoOf, encodeResponseObject } from './response-object.ts';

export interface AcceptedMembers {
  id: string;
  /** Unix seconds. */
  created: number;
  /** The gateway's name of the model. */
  model: string;
}

/** Whether the client says that the response is to be stored for as long as others. */
export function isStoredForLong({ store }: Json): boolean {
  return store === true;
}

/** The response object of a request that waits. */
export function queuedResponse(body: Json, { id, created, model }: AcceptedMembers): Json {
  const options = { model, created, echo: echoOf(body), isStored: isStoredForLong(body) };
  const begun = encodeResponseObject(
    { id, created, status: 'in_progress', output: [] },
    { includeUsage: false, array: false, hideReasoning: false, ...options },
  );
  const { conversation } = body;
  const named = conversation && { conversation: { id: conversation.id ?? conversation } };
  return { ...begun, status: 'queued', background: true, ...named };
}

/** The request as it is run: streamed, and stored by nobody else. */
export function backgroundRequest(body: Json): Json {
  const { background: _background, ...rest } = body;
  return { ...rest, stream: true, store: false };
}

/** Events of the upstream that have others in their place: the first ones of the acceptance, and the last one of the end. */
const REPLACED_EVENTS = [
  'response.created',
  'response.queued',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
];
const EVENT_TYPE = /^[\w.]{1,100}$/;

/** The events that a stream begins with. */
export function firstEvents(accepted: Json): string[] {
  const types = ['response.created', 'response.queued'];
  return types.map((type, index) => encodeEvent({ type, response: accepted }, index));
}

/** An event of the upstream with its number in the stream; undefined for one that has another in its place. */
export function loggedEvent(event: Json, { number, accepted }: { number: number; accepted: Json }): string | undefined {
  const { type, response } = event;
  if (typeof type !== 'string' || !EVENT_TYPE.test(type) || REPLACED_EVENTS.includes(type)) return undefined;
  return encodeEvent(response ? { ...event, response: finishedResponse(response, accepted) } : event, number);
}

function encodeEvent({ type, ...members }: Json, number: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members, sequence_number: number })}\n\n`;
}

/** A finished response object with the members that its request was answered with. */
export function finishedResponse(response: Json, accepted: Json): Json {
  const { id, created_at, background, store, previous_response_id, conversation } = accepted;
  const kept = { id, created_at, background, store, previous_response_id };
  return { ...response, ...kept, ...(conversation && { conversation }) };
}

/** The response object of a request that failed. */
export function failedResponse(accepted: Json, error: GatewayError): Json {
  return { ...accepted, status: 'failed', error: encodeErrorMember(error) };
}
