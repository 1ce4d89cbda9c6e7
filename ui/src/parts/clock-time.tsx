/** Clock time of a moment, in the zone of its page. */

import { createContext, useContext } from 'react';

/** Name of the zone whose clock times are shown by; that of the browser if absent. */
export const TimeZone = createContext<string | undefined>(undefined);

export function ClockTime({ at }: { at: number }) {
  const timeZone = useContext(TimeZone);
  return clockTimeOf(at, timeZone);
}

/** Clock time of a moment in a zone; in that of the browser if absent. */
export const clockTimeOf = (at: number, timeZone?: string): string =>
  new Date(at).toLocaleTimeString(undefined, { timeZone, hourCycle: 'h23' });
