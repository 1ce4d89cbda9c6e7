/** Text that was typed into forms: it outlives the end of its session for whoever signs in as the same again. In memory alone. */

import { type Dispatch, type SetStateAction, useEffect, useState } from 'react';

const values = new Map<string, unknown>();
/** Number of sessions that this page has been in. */
let sessions = 0;
let owner: string | undefined;

/** Begins another session: of an operator or a key, or of nobody if absent. What was typed is kept for its owner alone. */
export function keepTypedFor(next: string | undefined): void {
  sessions += 1;
  if (next === undefined) return;
  if (next !== owner) values.clear();
  owner = next;
}

/** Tells all tabs of the browser that somebody has signed out in one of them. */
const signOuts = new BroadcastChannel('sign-outs');
signOuts.onmessage = forget;

function forget(): void {
  values.clear();
  owner = undefined;
}

/** After a session that was ended here. */
export function forgetTyped(): void {
  forget();
  signOuts.postMessage(0);
}

/** Whether a session has ended otherwise, and nobody has signed in since. */
export const hasOwner = (): boolean => owner !== undefined;

/** State of a form, until the form is closed. Its name is that of no other form. */
export function useTyped<Value>(
  name: string,
  initial: Value | (() => Value),
): [Value, Dispatch<SetStateAction<Value>>] {
  const [value, setValue] = useState<Value>(values.has(name) ? (values.get(name) as Value) : initial);
  useEffect(() => {
    values.set(name, value);
  }, [name, value]);
  useEffect(() => {
    const begun = sessions;
    return () => {
      if (begun === sessions) values.delete(name);
    };
  }, [name]);
  return [value, setValue];
}
