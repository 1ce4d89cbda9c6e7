/** A line of the documentation: what stands between backticks is code. Other marks do not occur where it is used. */

import { Fragment } from 'react';

export function MarkedText({ text }: { text: string }) {
  return text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: Parts never move.
      <code key={index} className="rounded bg-hover px-1 text-[0.92em]">
        {part}
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: Parts never move.
      <Fragment key={index}>{part}</Fragment>
    ),
  );
}
