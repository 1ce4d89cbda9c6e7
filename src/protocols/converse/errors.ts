/** Errors of Converse whose name the platform does not know, and fields that a model turns out to refuse. */

import {
  codeOfDecisiveStatus,
  codeOfUpstreamStatus,
  type ErrorCode,
  GatewayError,
  upstreamMessage,
} from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';

const ACCOUNT_STATUSES = [401, 402, 403];

export function decodeError(status: number, body: unknown): GatewayError {
  const text = messageOf(body);
  const isOurs = ACCOUNT_STATUSES.includes(status);
  const code: ErrorCode = isOurs ? 'upstream_error' : (codeOfDecisiveStatus(status) ?? codeOfUpstreamStatus(status));
  const message = isOurs || text === undefined ? `The upstream answered with status ${status}.` : upstreamMessage(text);
  return new GatewayError(code, message, { upstreamStatus: status });
}

/** The error in a 200 body, such as that of an operation that a host does not have. */
export function errorIn(body: Json): GatewayError | undefined {
  if (body.output !== undefined) return undefined;
  const text = messageOf(body) ?? body.Output?.__type;
  return typeof text === 'string' ? new GatewayError('upstream_error', upstreamMessage(text)) : undefined;
}

function messageOf(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const text = body.message ?? body.Message;
  return typeof text === 'string' ? text : undefined;
}

/** The form in which Bedrock names a field that the model does not have. */
const REFUSED_FIELD = /doesn't support the ([\w.]+) field/;

/** Fields that an answer can do without, with the names that most clients know them by. */
const TUNING: Readonly<Record<string, string>> = { stopSequences: 'stop', temperature: 'temperature', topP: 'top_p' };

/** Removes from `body`, in place, the tuning field that `error` names; returns the name that clients know. */
export function repair(body: Json, { message }: GatewayError, isOwn: boolean): string | undefined {
  const field = isOwn ? REFUSED_FIELD.exec(message)?.[1] : undefined;
  if (field === undefined) return undefined;
  if (field.startsWith('toolConfig.toolChoice')) return removeFrom(body.toolConfig, 'toolChoice', 'tool_choice');
  const name = field.replace(/^inferenceConfig\./, '');
  return Object.hasOwn(TUNING, name) ? removeFrom(body.inferenceConfig, name, TUNING[name]) : undefined;
}

function removeFrom(holder: Json, name: string, parameter: string | undefined): string | undefined {
  if (!isObject(holder) || holder[name] === undefined) return undefined;
  delete holder[name];
  return parameter;
}
