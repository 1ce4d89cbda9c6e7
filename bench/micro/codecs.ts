/** Codec of each protocol: requests and responses decoded to the hub and encoded from it, and streams event by event. */

import type { ChatEvent } from '../../src/core/chat.ts';
import type { EncoderOptions, Target } from '../../src/core/operation.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { translatedProtocols } from '../../test/translated-protocols.ts';
import { CHAT_ANSWER, CHAT_FRAMES } from '../programs/answers.ts';
import { passthrough } from '../workload.ts';
import type { MicroCase } from './measure.ts';

const target: Target = { origin: 'up', model: 'm', rules: {} };
const options: EncoderOptions = { model: 'up/m', created: 1, includeUsage: true, array: false, hideReasoning: false };

/** Bodies of the other protocols are what the chat ones are encoded to. */
export function codecCases(): MicroCase[] {
  const chat = translatedProtocols.find(({ id }) => id === 'chat') as Protocol;
  const { complete } = chat.operations;
  const request = complete.decodeRequest(JSON.parse(passthrough.body('m')));
  const response = complete.decodeResponse(JSON.parse(CHAT_ANSWER), target);
  const decoder = complete.streamDecoder(target);
  const events = parseEvents(Buffer.from(CHAT_FRAMES.join(''))).flatMap((event) => decoder.decode(event));
  return translatedProtocols.flatMap((protocol) =>
    casesOf(protocol, { request, response, events: [...events, ...decoder.end()] }),
  );
}

interface HubValues {
  request: Parameters<Protocol['operations']['complete']['encodeRequest']>[0];
  response: Parameters<Protocol['operations']['complete']['encodeResponse']>[0];
  events: ChatEvent[];
}

function casesOf({ id, operations: { complete } }: Protocol, { request, response, events }: HubValues): MicroCase[] {
  const requestBody = complete.encodeRequest(request, target).body;
  const responseBody = complete.encodeResponse(response, options);
  const streamed = streamText();
  const wire = parseEvents(Buffer.from(streamed));
  const size = (value: unknown) => JSON.stringify(value).length;

  function streamText(): string {
    const encoder = complete.streamEncoder(options);
    return events.map((event) => encoder.encode(event)).join('') + encoder.end();
  }

  return [
    {
      ...{ name: `${id}: request checked and decoded`, bytes: size(requestBody) },
      run() {
        complete.check(requestBody);
        return complete.decodeRequest(requestBody);
      },
    },
    {
      ...{ name: `${id}: request encoded`, bytes: size(requestBody) },
      run: () => complete.encodeRequest(request, target),
    },
    {
      ...{ name: `${id}: response decoded`, bytes: size(responseBody) },
      run: () => complete.decodeResponse(responseBody, target),
    },
    {
      ...{ name: `${id}: response encoded`, bytes: size(responseBody) },
      run: () => complete.encodeResponse(response, options),
    },
    {
      ...{ name: `${id}: stream of 100 frames decoded`, bytes: streamed.length },
      run() {
        const decoder = complete.streamDecoder(target);
        for (const event of wire) decoder.decode(event);
        return decoder.end();
      },
    },
    { name: `${id}: stream of 100 frames encoded`, bytes: streamed.length, run: streamText },
  ];
}
