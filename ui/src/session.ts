/** Session: who looks at the pages. Its cookie is out of reach for scripts. */

import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from './api.ts';
import { forgetTyped, keepTypedFor } from './typed.ts';

export interface Session {
  role: 'admin' | 'viewer' | 'key' | 'nobody';
  id: string | null;
  key: { hash: string; name: string; label: string; read_only: boolean } | null;
  ends_at: string | null;
  /** Whether this address has the admin API, too. */
  serves_operators: boolean;
  /** Whether keys call models at this address. */
  serves_keys: boolean;
  /** Base URL at which they do, where it is not this address. */
  clients_url: string | null;
  /** Base URL of the admin API, where it is not this address. */
  admin_url: string | null;
}

/** A text that opens a session. */
export type Login = { code: string } | { token: string } | { key: string };

const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  // Another tab may have opened another one.
  refetchOnWindowFocus: 'always',
  queryFn: async ({ signal, client }) => {
    const session = (await api.GET('/ui/session', { signal })).data?.data as Session;
    const before = client.getQueryData<Session>(['session']);
    if (!before) keepTypedFor(ownerOf(session));
    else if (before.id !== session.id) enter(client, session);
    return session;
  },
});

/** Absent for nobody. */
function ownerOf({ role, key }: Session): string | undefined {
  return role === 'nobody' ? undefined : `${role} ${key?.hash}`;
}

/** What another session was shown is forgotten. */
function enter(queries: QueryClient, session: Session): void {
  keepTypedFor(ownerOf(session));
  queries.setQueryData(sessionQuery.queryKey, session);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
}

/** Leaves the session if it has ended, as after its key was revoked, or if another tab has opened another one. */
export async function leaveEnded(queries: QueryClient): Promise<void> {
  const before = queries.getQueryData(sessionQuery.queryKey);
  if (!before || before.role === 'nobody') return;
  await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined);
}

export function useSession() {
  const queries = useQueryClient();
  const asked = useQuery(sessionQuery);

  return {
    asked,
    session: asked.data,
    isOperator: asked.data?.role === 'admin' || asked.data?.role === 'viewer',
    isAdmin: asked.data?.role === 'admin',
    /** Whether it may do more than read. */
    mayChange: asked.data?.role === 'admin' || asked.data?.key?.read_only === false,
    /** Base URL at which programs call models. */
    clientsUrl: asked.data?.clients_url ?? location.origin,
    /** Base URL at which the admin token is taken. */
    adminUrl: asked.data?.admin_url ?? location.origin,
    async signIn(login: Login) {
      const { data } = await api.POST('/ui/session', { body: login });
      enter(queries, data?.data as Session);
    },
    async signOut() {
      await api.DELETE('/ui/session');
      forgetTyped();
      const { data } = await api.GET('/ui/session');
      enter(queries, data?.data as Session);
    },
  };
}

/** Code of a one-time link, which stands in the fragment and is removed at once. */
export const linkCode = takeLinkCode();

function takeLinkCode(): string | undefined {
  const code = /^#code=([\w-]{20,200})$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}
