/** docs/fidelity.md: the outcome of every field, written from the data of the golden tests. */

import { protocols } from '../../../src/protocols/index.ts';
import type { UpstreamId } from '../../corpus/recordings.ts';
import { answersTo } from './answers.ts';
import { requestsFrom } from './requests.ts';

const INTRODUCTION = `# Fidelity

Look here to find out what happens to a field between two protocols. If client and upstream speak the same protocol, bytes pass and this page does not apply. Otherwise a field has one of
four outcomes:

- **kept**: the value arrives, in the other protocol's place for it;
- **adapted**: something else replaces it, as the table says;
- **refused**: the request returns 400 with this code ([errors](errors.md)), and the message names the field;
- **dropped**: the field only tunes the answer; it is left out and named in the header \`x-polygate-dropped\`, by the name in brackets if there is one. A picture in an answer to a messages client is named there too, and [linked](protocols.md#translation).

There is no fifth outcome: a test sends every field and fails if one is lost without notice. The tables show a model that accepts everything in its protocol, at Converse Nova 2. What a single
model does not accept is dropped by name or adapted as well. A field stands for all fields below it. This page is written by \`npm run golden\`.`;

const RESPONSES = `### From responses

What becomes of the fields of Responses clients is described in [Responses](responses.md#models-of-other-protocols).`;

const ANSWERS = `Whole answers and streams carry the same. An error keeps its message, and its code becomes the nearest one of the client's protocol ([errors](errors.md)).
Members that only one protocol has (\`system_fingerprint\`, \`logprobs.refusal\`, \`moderation\`, \`container\`, \`context_management\`, \`diagnostics\`, \`safetyRatings\`, \`urlContextMetadata\`, \`modelStatus\`, search queries, steps of tools that ran at the provider) are left out,
and so are blocks, items and parts of kinds that are not known. A client of the same protocol gets all of them.`;

export function fidelity(): string {
  const requests = protocols
    .filter(({ id }) => id !== 'responses')
    .map((from) => `### From ${from.id}\n\n${requestsFrom(from)}`);
  const answers = protocols.map((client) => `### To ${client.id}\n\n${answersTo(client.id as UpstreamId)}`);
  return `${[INTRODUCTION, '## Requests', ...requests, RESPONSES, '## Answers', ANSWERS, ...answers].join('\n\n')}\n`;
}
