/** Answers that are errors: the client is told, in a way that its SDK takes for an error. */

import type { Finding } from './expectation.ts';
import type { Recording } from './recordings.ts';
import type { Received } from './replay.ts';
import { mistaken } from './sdk.ts';
import { messageOf, READERS, type Trial } from './trial.ts';

const feature = 'error';

export async function judgeFailure({ recording, client }: Pick<Trial, 'recording' | 'client'>, received: Received) {
  const isStream = recording.response.frames !== undefined;
  const finding = isStream ? brokenStream(received, client) : toldError(recording, received, client);
  if (finding.outcome === 'different') return finding;
  const mistake = await mistaken(client, isStream ? 'stream' : 'whole', received);
  return mistake ? different(mistake) : finding;
}

function brokenStream(received: Received, client: Trial['client']): Finding {
  if (received.status >= 400) return { feature, outcome: 'adapted', detail: `status ${received.status}` };
  try {
    READERS[client].join(received.text);
    return different('a broken stream looks complete');
  } catch (error) {
    const isError = String(error).includes('error: ');
    return { feature, outcome: isError ? 'adapted' : 'different', detail: String(error).slice(0, 160) };
  }
}

function toldError({ response, protocol }: Recording, received: Received, client: Trial['client']): Finding {
  const { status, text } = received;
  const said = messageOf(received);
  if (status < 400 || said === '') return different(`status ${status}: ${text.slice(0, 100)}`);
  const words = response.body?.error?.message;
  const isSame =
    protocol === client
      ? text === JSON.stringify(response.body) && status === response.status
      : words && said.includes(words);
  return { feature, outcome: isSame ? 'equal' : 'adapted', detail: `${status}: ${said.slice(0, 160)}` };
}

function different(detail: string): Finding {
  return { feature, outcome: 'different', detail };
}
