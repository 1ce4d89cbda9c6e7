/** The value that is picked: it is highlighted wherever it went. */

import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';

interface Picked {
  text: string | undefined;
  pick(text: string | undefined): void;
}

const PickedValue = createContext<Picked>({ text: undefined, pick() {} });
/** A part of a text is lit if it is long, or most of it; short words are in almost every text. */
const MIN_PART_CHARACTERS = 16;
const MIN_PART_SHARE = 0.5;

export function PickedProvider({ children }: { children: ReactNode }) {
  const [text, pick] = useState<string>();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') pick(undefined);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return <PickedValue value={{ text, pick }}>{children}</PickedValue>;
}

/** A value that can be picked. `shown` is its form here. */
export function Value({ text, shown = text }: { text: string; shown?: string }) {
  const picked = useContext(PickedValue);
  const key = text.trim().toLowerCase();
  return (
    <button
      type="button"
      aria-pressed={picked.text === key}
      data-lit={isLit(key, picked.text) || undefined}
      onClick={() => picked.pick(picked.text === key ? undefined : key)}
      className="wire-value"
    >
      {shown}
    </button>
  );
}

function isLit(key: string, picked: string | undefined): boolean {
  if (picked === undefined || key === '') return false;
  if (key === picked) return true;
  const [short, long] = key.length < picked.length ? [key, picked] : [picked, key];
  const isMuch = short.length >= Math.min(MIN_PART_CHARACTERS, long.length * MIN_PART_SHARE);
  return isMuch && long.includes(short);
}
