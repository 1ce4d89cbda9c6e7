/** docs/fidelity.md: what becomes of each field, written from the data that the tests hold the gateway to. */

import { protocols } from '../../../src/protocols/index.ts';
import type { ProtocolId } from '../../gateway/harness.ts';
import { answersTo } from './answers.ts';
import { requestsFrom } from './requests.ts';

const INTRODUCTION = `# Fidelity

What becomes of requests and answers on the way between two protocols. A client of an upstream's own protocol gets the upstream's bytes, so nothing here is
about it. Everything else is one of four:

- **kept**: the value arrives, in the other protocol's place for it;
- **adapted**: something else stands for it, as the table says;
- **refused**: the request is answered with 400 and this code ([errors](errors.md)), which names the field;
- **dropped**: the field only tunes, is left out, and is named in the header \`x-polygate-dropped\`, if need be by the name in brackets.

There is no fifth: a test sends every field and fails when one vanishes unsaid. The tables show a model that takes everything its protocol has. What a single
model doesn't take is dropped by name or adapted as well. A field stands for all below it. This page is written by \`npm run golden\`.`;

const ANSWERS = `Whole and streamed answers say the same. An error keeps its words, and its code becomes the nearest of the client's protocol ([errors](errors.md)).
What only one protocol has a place for (\`system_fingerprint\`, \`safetyRatings\`, queries of searches, steps of tools that ran at the provider) is left out.`;

export function fidelity(): string {
  const requests = protocols.map((from) => `### From ${from.id}\n\n${requestsFrom(from)}`);
  const answers = protocols.map((client) => `### To ${client.id}\n\n${answersTo(client.id as ProtocolId)}`);
  return `${[INTRODUCTION, '## Requests', ...requests, '## Answers', ANSWERS, ...answers].join('\n\n')}\n`;
}
