/** Words of commands for a shell. */

export function quoted(text: string): string {
  return /^[\w./:=,@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export interface Call {
  /** Path and query. */
  path: string;
  /** By default POST with a body, and GET without one. */
  method?: 'DELETE' | 'PATCH' | 'POST' | 'PUT';
  /** Sent as JSON. */
  body?: object;
}

/** As a command of curl. `token` is the name of a variable. */
export function curlOf({ path, method, body }: Call, { origin, token }: { origin: string; token: string }): string {
  const lines = [
    `curl ${method ? `-X ${method} ` : ''}${quoted(origin + path)}`,
    `-H "Authorization: Bearer $${token}"`,
    ...(body ? ['-H "Content-Type: application/json"', `-d ${quoted(JSON.stringify(body))}`] : []),
  ];
  return lines.join(' \\\n  ');
}

/** Name of the variable with the token of the admin API. */
export const ADMIN_TOKEN = 'POLYGATE_ADMIN_TOKEN';
