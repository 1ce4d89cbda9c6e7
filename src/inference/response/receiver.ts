/** Hears an upstream's answer from its head on and hands it to who can read it: a stream, one piece, or an error. */

import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { framerFor } from '../../transport/framing/index.ts';
import type { UpstreamExchange, UpstreamReceiver } from '../../transport/upstream-client.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';
import { receiveStream } from './receive-stream.ts';
import { receiveRefusal, receiveWhole } from './receive-whole.ts';

export interface AttachedReceiver extends UpstreamReceiver {
  /** Gives the receiver its hand on the exchange: to pause it for a slow client, and to stop it. */
  attach(exchange: UpstreamExchange): void;
}

export function createReceiver(delivery: ResponseContext): AttachedReceiver {
  let exchange: UpstreamExchange | undefined;
  let stream: UpstreamReceiver | undefined;
  let inner: UpstreamReceiver | undefined;
  delivery.reply.onDrain(() => exchange?.resume());

  /** Nothing more is heard of the upstream; what the client is told depends on what it has seen. */
  function stop(error: unknown): void {
    exchange?.abort();
    fail(error instanceof RangeError ? endless(error) : toGatewayError(error));
  }

  function fail(error: GatewayError): void {
    const reader = inner ?? stream;
    if (reader) reader.fail(error);
    else delivery.reject(error);
  }

  function attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      stop(error);
    }
  }

  function readerOf(status: number, headers: UpstreamHeaders): UpstreamReceiver {
    const tell = (error: GatewayError): void => (stream ? stream.fail(error) : delivery.reject(error));
    if (status < 200 || status >= 300) return receiveRefusal(delivery, { status, headers, tell });
    const { platform } = delivery.endpoint.provider;
    const createFramer = delivery.call.stream ? framerFor(platform, headers['content-type']) : undefined;
    if (createFramer) {
      stream ??= receiveStream(delivery, headers, createFramer);
      return stream;
    }
    if (!stream && isJson(headers)) return receiveWhole(delivery, headers);
    throw new GatewayError(
      'upstream_error',
      'The upstream answered with something that is neither JSON nor an event stream.',
    );
  }

  return {
    attach(attached) {
      exchange = attached;
      inner = undefined;
    },
    head: (status, headers) =>
      attempt(() => {
        inner = readerOf(status, headers);
      }),
    data(chunk) {
      attempt(() => inner?.data(chunk));
      if (delivery.reply.full) exchange?.pause();
    },
    end: () => attempt(() => inner?.end()),
    fail,
  };
}

/** The stack ends before the nesting of such an answer does; requests are limited before. */
function endless(cause: RangeError): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent an answer that nests too deeply.', { cause });
}

function isJson(headers: UpstreamHeaders): boolean {
  return /^application\/([\w.-]+\+)?json/i.test(headers['content-type'] ?? 'application/json');
}
