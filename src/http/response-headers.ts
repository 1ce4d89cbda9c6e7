/** Response headers common to every response to a request: set while it is handled, read when the head is written. */

export class ResponseHeaders {
  readonly #headers: Record<string, string>;
  #rateLimit: (() => Record<string, string>) | undefined;

  /** `requestIdName` is the header for the request id in the protocol. */
  constructor(requestId: string, requestIdName: string) {
    this.#headers = { [requestIdName]: requestId, 'x-polygate-request-id': requestId };
  }

  /** `x-ratelimit-*`: limits of the key, and the rest of each, as of the head of the response. Replaces earlier ones. */
  setRateLimit(headers: () => Record<string, string>): void {
    this.#rateLimit = headers;
  }

  /** Id of the usage record. */
  setGenerationId(id: string): void {
    this.#headers['x-polygate-generation-id'] = id;
  }

  /** Id of the capture of this request. */
  setCapture(id: string): void {
    this.#headers['x-polygate-capture'] = id;
  }

  /** Number of attempts. */
  setAttempts(count: number): void {
    this.#headers['x-polygate-attempts'] = String(count);
  }

  /** Merges the headers of a response into these; called once, when its head is written. */
  with(headers?: Record<string, string>): Record<string, string> {
    return Object.assign(this.#headers, this.#rateLimit?.(), headers);
  }
}
