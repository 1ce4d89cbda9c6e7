/** Generated answers of upstreams that speak Converse, and the streams that say the same. */

import fc from 'fast-check';
import type { Json } from '../../../src/core/json/json.ts';
import {
  CUT_CALL,
  type Cut,
  count,
  cutterOf,
  input,
  lengths,
  name,
  PICTURE,
  sometimes,
  state,
  text,
  type UpstreamAnswer,
  url,
} from './drawing.ts';

const converseCitation = fc.oneof(
  fc.record({
    title: text,
    sourceContent: text.map((words) => [{ text: words }]),
    location: url.map((one) => ({ web: { url: one } })),
  }),
  fc.record({
    title: text,
    sourceContent: text.map((words) => [{ text: words }]),
    location: fc.constant({ documentChar: { documentIndex: 0, start: 0, end: 1 } }),
  }),
);

const converseBlock = fc.oneof(
  { weight: 3, arbitrary: fc.record({ text }) },
  {
    weight: 2,
    arbitrary: fc.record({
      citationsContent: fc.record({
        content: text.map((words) => [{ text: words }]),
        citations: fc.array(converseCitation, { minLength: 1, maxLength: 2 }),
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      reasoningContent: fc.oneof(
        fc.record({ reasoningText: fc.record({ text, signature: state }) }),
        fc.record({ redactedContent: state }),
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ toolUse: fc.record({ name, input }) }) },
  { weight: 1, arbitrary: fc.constant({ image: { format: 'png', source: { bytes: PICTURE } } }) },
);

/** A block without words. */
const converseLate = fc.oneof(
  fc.record({ reasoningContent: fc.record({ redactedContent: state }) }),
  fc.record({ citationsContent: converseCitation.map((one) => ({ content: [{ text: '' }], citations: [one] })) }),
);

export const converse = fc
  .record({
    blocks: fc.array(converseBlock, { minLength: 1, maxLength: 5 }),
    stopReason: fc.constantFrom(
      ...[
        'end_turn',
        'tool_use',
        'max_tokens',
        'stop_sequence',
        'content_filtered',
        'guardrail_intervened',
        'tomorrow',
      ],
    ),
    usage: fc.record({
      inputTokens: count,
      outputTokens: count.map((tokens) => tokens + 1),
      cacheReadInputTokens: count,
    }),
    lengths,
    isCut: sometimes,
    late: fc.array(converseLate, { maxLength: 1 }),
  })
  .map((drawn): UpstreamAnswer => {
    const { usage, lengths, isCut } = drawn;
    const bare = isCut ? [{ toolUse: { name: CUT_CALL, input: {} } }, ...drawn.late] : [];
    const stopReason = isCut ? 'max_tokens' : drawn.stopReason;
    const content: Json[] = [...drawn.blocks, ...bare].map((block: Json, index) =>
      block.toolUse ? { toolUse: { ...block.toolUse, toolUseId: `tooluse_${index}` } } : block,
    );
    const cut = cutterOf(lengths);
    const frames = [
      { event: 'messageStart', data: { role: 'assistant' } },
      ...content.flatMap((block, contentBlockIndex) => [
        ...(block.toolUse || block.image
          ? [{ event: 'contentBlockStart', data: { contentBlockIndex, start: converseStart(block) } }]
          : []),
        ...converseDeltas(block, cut).map((delta) => ({
          event: 'contentBlockDelta',
          data: { contentBlockIndex, delta },
        })),
        { event: 'contentBlockStop', data: { contentBlockIndex } },
      ]),
      { event: 'messageStop', data: { stopReason } },
      { event: 'metadata', data: { usage, metrics: { latencyMs: 1 } } },
    ];
    return { whole: { output: { message: { role: 'assistant', content } }, stopReason, usage }, frames, isCut };
  });

function converseStart({ toolUse, image }: Json): Json {
  if (image) return { image: { format: image.format } };
  const { input, ...start } = toolUse;
  return { toolUse: start };
}

function converseDeltas({ text, citationsContent, reasoningContent, toolUse, image }: Json, cut: Cut): Json[] {
  if (image) return [{ image: { source: image.source } }];
  if (toolUse) {
    const json = Object.keys(toolUse.input).length === 0 ? '' : JSON.stringify(toolUse.input);
    return cut(json).map((input) => ({ toolUse: { input } }));
  }
  if (reasoningContent?.redactedContent) return [{ reasoningContent }];
  if (reasoningContent) {
    const { text: words, signature } = reasoningContent.reasoningText;
    return [...cut(words).map((piece) => ({ reasoningContent: { text: piece } })), { reasoningContent: { signature } }];
  }
  if (!citationsContent) return cut(text).map((piece) => ({ text: piece }));
  return [
    ...cut(citationsContent.content[0].text).map((piece) => ({ text: piece })),
    ...citationsContent.citations.map((citation: Json) => ({ citation })),
  ];
}
