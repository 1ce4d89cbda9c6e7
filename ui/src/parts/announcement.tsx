/** What a screen reader says of something that changes quickly: one message in five seconds, the last one always. */

import { useEffect, useRef, useState } from 'react';

const SILENCE_MS = 5000;

export function Announcement({ text }: { text: string }) {
  const [said, setSaid] = useState(text);
  const saidAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (text === said) return;
    const wait = Math.max(0, saidAt.current + SILENCE_MS - performance.now());
    const timer = setTimeout(() => {
      saidAt.current = performance.now();
      setSaid(text);
    }, wait);
    return () => clearTimeout(timer);
  }, [text, said]);
  return (
    <p className="sr-only" role="status">
      {said}
    </p>
  );
}
