/** Client of the gateway's API: typed by its own description, with errors in the words of the gateway. */

import createClient from 'openapi-fetch';
import type { paths } from './api-types.ts';
import { learnClock } from './times.ts';

/** An error of the gateway, or of the way to it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Name of the field that is wrong. */
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  /** Id of the capture of the refused request. */
  readonly capture: string | undefined;

  constructor(
    message: string,
    facts: { status: number; code: string; param?: string; requestId?: string; capture?: string },
  ) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.param = facts.param;
    this.requestId = facts.requestId;
    this.capture = facts.capture;
  }
}

/** Header of changes, which pages of other sites cannot send. */
const OWN_HEADER = 'x-polygate-ui';

/** Event of the window: an answer had status 401 or 403, as after the end of the session, or in that of another role. */
export const REFUSED = 'polygate-refused';

/** Fetches with the session of this browser. Throws `ApiError`. */
export async function request(input: Request | string, init?: RequestInit): Promise<Response> {
  const asked = new Request(input, init);
  asked.headers.set(OWN_HEADER, '1');
  if (asked.method !== 'GET') asked.headers.set('content-type', 'application/json');
  const response = await fetch(asked).catch((error) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('The gateway does not answer. It may have stopped, or the network is away.', {
      status: 0,
      code: 'unreachable',
    });
  });
  learnClock(response.headers);
  if (response.status === 401 || response.status === 403) dispatchEvent(new Event(REFUSED));
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-polygate-request-id') ?? undefined;
  const body = await response.json().catch(() => undefined);
  const error = body?.error;
  return new ApiError(error?.message ?? `The gateway answered with status ${response.status}.`, {
    status: response.status,
    code: String(error?.code ?? error?.status ?? error?.type ?? response.status),
    param: error?.param ?? undefined,
    requestId,
    capture: response.headers.get('x-polygate-capture') ?? undefined,
  });
}

export const api = createClient<paths>({ baseUrl: location.origin, fetch: (asked) => request(asked) });

/** Body of a response that the description of the API leaves open. */
export async function bodyOf<Body>(response: Promise<{ data?: unknown }>): Promise<Body> {
  return (await response).data as Body;
}
