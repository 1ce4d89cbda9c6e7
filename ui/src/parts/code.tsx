/** Code with colours, and a button that copies it. */

import { type ParseOptions, SugarHigh, tokenize } from 'sugar-high/core';
import * as javascript from 'sugar-high/lang/javascript';
import * as json from 'sugar-high/lang/json';
import * as python from 'sugar-high/lang/python';
import * as shell from 'sugar-high/lang/shell';
import { CopyButton } from './copy-button.tsx';

export type Language = 'javascript' | 'json' | 'python' | 'shell';

const LANGUAGES = { javascript, json, python, shell } as unknown as Record<Language, ParseOptions>;

const TONES: Record<string, string> = {
  keyword: 'text-code-keyword',
  string: 'text-good',
  comment: 'text-dim',
  class: 'text-accent',
  entity: 'text-accent',
};

/** In a shell these are parts of options and of addresses, too. */
function toneOf(kind = '', language: Language): string | undefined {
  return kind === 'class' && language === 'shell' ? undefined : TONES[kind];
}

/** Each token is text; nothing becomes HTML. */
export function Code({ text, language }: { text: string; language?: Language }) {
  return (
    // Beside the button, so that no line runs below it.
    <div className="relative pr-12">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reached by keyboard. */}
      <pre className="overflow-x-auto p-4 leading-relaxed" tabIndex={0}>
        <code>
          {language === undefined
            ? text
            : tokenize(text, LANGUAGES[language]).map(([kind, value], index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: Tokens never move.
                <span key={index} className={toneOf(SugarHigh.TokenTypes[kind], language)}>
                  {value}
                </span>
              ))}
        </code>
      </pre>
      <div className="absolute top-2 right-2">
        <CopyButton text={text} />
      </div>
    </div>
  );
}
