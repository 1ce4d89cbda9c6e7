/** A value that is typed, once nobody has typed for a moment: what the gateway is asked for. */

import { useEffect, useState } from 'react';

const QUIET_MS = 150;

export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), QUIET_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
