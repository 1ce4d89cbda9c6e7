/** Roles of sessions, and the one table that says which routes each may call. */

import type { Route, RouteAccess } from '../route-table.ts';

export type Role = 'admin' | 'viewer' | 'key';

/** Facts of a route that decide which roles may call it. */
export type GuardedRoute = Pick<Route, 'access' | 'changes' | 'reveals'>;

const EVERYONE: readonly Role[] = ['admin', 'viewer', 'key'];
const READERS: readonly Role[] = ['admin', 'viewer'];
const ADMINS: readonly Role[] = ['admin'];

/** By the credential that a route requires of programs. */
const ROLES: Record<RouteAccess, (route: GuardedRoute) => readonly Role[]> = {
  anyone: () => EVERYONE,
  session: () => EVERYONE,
  // An admin calls it as a key that the request names.
  key: () => ['admin', 'key'],
  // A viewer sees everything but secrets, and changes nothing.
  admin: ({ changes, reveals }) => (changes || reveals ? ADMINS : READERS),
};

export function mayCall(role: Role, route: GuardedRoute): boolean {
  return ROLES[route.access](route).includes(role);
}
