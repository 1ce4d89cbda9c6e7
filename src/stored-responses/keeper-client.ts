/** Requests about stored responses to the providers that keep them. */

import { PassThrough } from 'node:stream';
import { GatewayError } from '../core/errors.ts';
import { retryAfterOf } from '../core/fields.ts';
import { parseObject } from '../core/json/json.ts';
import type { OutgoingRequest } from '../core/platform.ts';
import type { Protocol } from '../core/protocol.ts';
import { createFramer } from '../core/sse.ts';
import type { Output } from '../inference/response/converter.ts';
import { frameText } from '../inference/response/mark-search.ts';
import { FrameRenamer, nameModel } from '../inference/response/model-name.ts';
import { OutputRun } from '../inference/response/output-run.ts';
import type { StoredResponse } from '../records/stored-response.ts';
import type { ModelDirectory } from '../routing/model-directory.ts';
import { collectResponse } from '../transport/collect-response.ts';
import { isRenewedAfter } from '../transport/credentials.ts';
import type { UpstreamClient, UpstreamExchange, UpstreamReceiver } from '../transport/upstream-client.ts';
import { unknownResponse } from './errors.ts';

export interface KeeperClientOptions {
  protocol: Protocol;
  models(): ModelDirectory;
  upstream(): Pick<UpstreamClient, 'send'>;
  userAgent(): string;
  /** Unix milliseconds. */
  now(): number;
}

export interface KeeperRequest {
  method: OutgoingRequest['method'];
  stored: StoredResponse;
  /** Path below the response, with the query. */
  suffix: string;
}

const MAX_BYTES = 64 * 1024 * 1024;

/** The response of the provider. */
export interface KeeperResponse {
  type: string;
  body: Buffer | PassThrough;
}

export type AskKeeper = (request: KeeperRequest) => Promise<KeeperResponse>;

/** Passes the response of the provider on with the gateway's name of the model. Throws `response_not_found` and upstream errors. */
export function createKeeperClient(options: KeeperClientOptions): AskKeeper {
  const { protocol } = options;

  return async ({ method, stored, suffix }) => {
    const { id, model, provider, credential } = stored;
    const active = options.models().providers.get(provider);
    const account = credential === undefined ? undefined : active?.credentials.find(credential);
    if (!active || !account) throw unknownResponse(id);
    const { platform, local } = active.provider;
    const url = platform.url({
      type: 'inference',
      protocol: protocol.id,
      operation: 'complete',
      stream: false,
      model,
      path: `${protocol.operations.complete.upstreamPath(model, false)}/${encodeURIComponent(id)}${suffix}`,
    });
    const headers = {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': options.userAgent(),
      ...active.headers,
    };
    let sentAt = 0;
    const send = async (): Promise<KeeperResponse> => {
      const request = await platform.authorize({ method, url, headers }, account.value, options.now());
      sentAt = options.now();
      return new Promise<KeeperResponse>((resolve, reject) => {
        const exchange = options.upstream().send(
          { ...request, ...(local && { local }) },
          receive(
            { protocol, model, id, now: options.now },
            {
              resolve,
              reject,
              exchange: () => exchange,
            },
          ),
        );
      });
    };
    try {
      return await send();
    } catch (error) {
      if (error instanceof GatewayError && isRenewedAfter(error, account.value, sentAt)) return send();
      throw error;
    }
  };
}

interface Outcome {
  resolve(response: KeeperResponse): void;
  reject(error: GatewayError): void;
  exchange(): UpstreamExchange;
}

function receive(
  { protocol, model, id, now }: Pick<KeeperClientOptions, 'protocol' | 'now'> & { model: string; id: string },
  { resolve, reject, exchange }: Outcome,
): UpstreamReceiver {
  let receiver: Omit<UpstreamReceiver, 'head'> | undefined;
  const whole = collectResponse({
    accepts: (size) => size <= MAX_BYTES,
    onResponse({ status, headers, body }) {
      if (status === 404) reject(unknownResponse(id));
      else if (status < 200 || status >= 300) {
        const error = protocol.decodeError(status, parseObject(body.toString('utf8')));
        const retryAfter = retryAfterOf(headers, now()) ?? error.retryAfter;
        reject(new GatewayError(error.code, error.message, { ...error, cause: error.cause, retryAfter }));
      } else resolve({ type: 'application/json', body: nameModel(body, protocol.operations.complete, model) });
    },
    onTooLarge() {
      exchange().abort();
      reject(unknownResponse(id));
    },
    onFailure: reject,
  });
  return {
    head(status, headers) {
      const isStream = status === 200 && headers['content-type']?.startsWith('text/event-stream');
      if (isStream) {
        const stream = renamedStream(protocol, model, exchange);
        receiver = stream.receiver;
        resolve({ type: 'text/event-stream; charset=utf-8', body: stream.body });
      } else {
        receiver = whole;
        whole.head(status, headers);
      }
    },
    data: (chunk) => receiver?.data(chunk),
    end: () => receiver?.end(),
    fail(error) {
      if (receiver) receiver.fail(error);
      else reject(error);
    },
  };
}

/** Frames of a stream, with the gateway's name of the model. */
function renamedStream(
  { operations: { complete } }: Protocol,
  model: string,
  exchange: () => UpstreamExchange,
): { body: PassThrough; receiver: Omit<UpstreamReceiver, 'head'> } {
  const body = new PassThrough();
  const framer = createFramer();
  const renamer = new FrameRenamer(complete, model);

  function write(frames: readonly Buffer[]): void {
    const out: Output[] = [];
    const run = new OutputRun();
    for (const frame of frames) {
      const brace = frame.indexOf('{');
      if (brace < 0) run.add(out, frame);
      else renamer.rename(frame, { brace, text: frameText(frame), out, run });
    }
    run.flush();
    for (const output of out) body.write(output);
    if (body.writableNeedDrain) exchange().pause();
  }

  body.on('drain', () => exchange().resume());
  body.on('close', () => exchange().abort());
  return {
    body,
    receiver: {
      data: (chunk) => write(framer.push(chunk)),
      end() {
        write(framer.end());
        body.end();
      },
      fail: (error) => void body.destroy(error),
    },
  };
}
