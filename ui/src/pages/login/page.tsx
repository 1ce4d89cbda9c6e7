/** Login: with a one-time link, the admin token or an API key. */

import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ApiError } from '../../api.ts';
import { Mark } from '../../frame/mark.tsx';
import { ErrorNotice } from '../../parts/states.tsx';
import { type Login, linkCode, type Session, useSession } from '../../session.ts';
import { hasOwner } from '../../typed.ts';

export function LoginPage() {
  const { session, signIn } = useSession();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(linkCode !== undefined);
  const isTried = useRef(false);

  async function enter(login: Login, other?: Login) {
    setBusy(true);
    setError(undefined);
    try {
      await signIn(login);
    } catch (problem) {
      if (other && problem instanceof ApiError && problem.status === 401) return enter(other);
      setError(problem);
      setBusy(false);
    }
  }

  useEffect(() => {
    if (linkCode === undefined || isTried.current) return;
    isTried.current = true;
    void enter({ code: linkCode });
  });

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('credential') ?? '').trim();
    if (text === '') return;
    const asToken = session?.serves_operators ? { token: text } : undefined;
    if (session?.serves_keys !== false) void enter({ key: text }, asToken);
    else void enter({ token: text });
  }

  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex items-center gap-3">
          <Mark size={34} />
          <div>
            <h1>Polygate</h1>
            <p className="text-dim">A gateway in front of models</p>
          </div>
        </div>
        <form className="card flex flex-col gap-4 p-5" onSubmit={submit}>
          {hasOwner() && (
            <p className="text-warn">
              The session has ended. Sign in as before to go on where you were, with what you typed.
            </p>
          )}
          <label className="flex flex-col gap-1.5">
            <span className="font-medium">{credentialName(session)}</span>
            <input
              className="input font-mono"
              name="credential"
              type="password"
              autoComplete="off"
              spellCheck={false}
              placeholder="sk-pg-…"
              required
              ref={(input) => input?.focus()}
            />
          </label>
          {error !== undefined && <ErrorNotice error={error} />}
          <button type="submit" className="button button-primary" disabled={isBusy}>
            {isBusy ? 'Signing in …' : 'Sign in'}
          </button>
          {session?.serves_operators && (
            <p className="text-dim">
              Without a token: <code>polygate login</code> beside the gateway prints a link that signs you in.
            </p>
          )}
        </form>
        {session?.serves_keys !== false && (
          <p className="mt-4 text-center">
            <a className="text-accent underline-offset-4 hover:underline" href="/ui/models">
              See the models without a key
            </a>
          </p>
        )}
      </div>
    </main>
  );
}

function credentialName(session: Session | undefined): string {
  if (session?.serves_keys === false) return 'Admin token';
  return session?.serves_operators ? 'API key or admin token' : 'API key';
}
