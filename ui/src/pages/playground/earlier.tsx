/** Earlier turns of a conversation, above its last answer. */

import type { Message } from './conversation.ts';

const NAMES = { user: 'You', assistant: 'Model', tools: 'Result' };

/** Nothing for the first turn: what was asked is in the form. */
export function Earlier({ messages }: { messages: readonly Message[] }) {
  if (messages.length < 2) return null;
  return (
    <ol aria-label="Earlier turns" className="mb-4 flex flex-col gap-2 border-b pb-4">
      {messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: Turns are only added.
        <li key={index} className="grid grid-cols-[4rem_1fr] gap-x-2">
          <span className="text-dim">{NAMES[message.role]}</span>
          <div className="min-w-0 break-words whitespace-pre-wrap">
            <Content message={message} />
          </div>
        </li>
      ))}
    </ol>
  );
}

function Content({ message }: { message: Message }) {
  switch (message.role) {
    case 'user':
      return (
        <>
          {message.text}
          {message.pictures.length > 0 && (
            <span className="text-dim"> with {message.pictures.map(({ name }) => name).join(', ')}</span>
          )}
        </>
      );
    case 'assistant':
      return (
        <>
          {message.text}
          {message.calls.map(({ name, input }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: Calls of an answer never move.
            <code key={index} className="block text-dim">
              {name}({input})
            </code>
          ))}
        </>
      );
    case 'tools':
      return message.results.map(({ call, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: Results never move.
        <span key={index} className="block">
          <code className="text-dim">{call.name}</code> {text}
        </span>
      ));
  }
}
