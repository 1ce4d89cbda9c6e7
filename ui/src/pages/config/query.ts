/** Configuration as the gateway that answers uses it. */

export type Value = string | number | boolean | (string | number)[] | null;

export interface Setting {
  path: string;
  value: Value;
  source:
    | { from: 'file'; line: number }
    | { from: 'environment'; variables: string[]; line?: number }
    | { from: 'command line' }
    | { from: 'default' }
    | { from: 'not set' };
  /** Its purpose; of one that is not set. */
  about?: string;
}

export interface Change {
  path: string;
  before: Value;
  now: Value;
}

export interface Config {
  origin: string | null;
  started_at: string;
  settings: Setting[];
  complete: boolean;
  changes: Change[];
  needs_restart: string[];
  faults: { subject: string; message: string }[];
}

export interface Check {
  valid: boolean;
  problems: { path: string; line: number; message: string }[];
  unchecked: string[];
  changes: Change[];
}
