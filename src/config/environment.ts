/** Environment variables, each of which may also be in a file: `NAME_FILE` names the file that holds the value of `NAME`. */

import type { Secret } from '../security/secret.ts';
import { readSecretFile } from '../security/secret-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variable that names the configuration file, or is the configuration itself. */
export const CONFIG_VARIABLE = 'POLYGATE_CONFIG';

export interface VariableLookup {
  value: string | undefined;
  /** Reason for which the value cannot be had; without anything of it. */
  problem?: string;
}

/** Reads the file of a variable at the first look-up and remembers it. */
export type LookUpVariable = (name: string) => VariableLookup;

/** Identity of a provider at its cloud platform, and the variables that it is read from. */
export interface ProviderIdentity {
  /** A name, or members as in the file. */
  settings: 'auto' | 'managed' | 'workload' | Readonly<Record<string, string | Secret>>;
  lookUp: LookUpVariable;
}

export function createVariableLookup(environment: Environment): LookUpVariable {
  const fromFiles = new Map<string, VariableLookup>();
  return (name) => {
    const value = environment[name];
    const fileVariable = `${name}_FILE`;
    const path = environment[fileVariable];
    if (!path) return { value };
    if (value) return { value: undefined, problem: `${name} and ${fileVariable} are both set; set only one of them` };
    const known = fromFiles.get(name) ?? readVariableFile(fileVariable, path);
    fromFiles.set(name, known);
    return known;
  };
}

function readVariableFile(variable: string, path: string): VariableLookup {
  try {
    return { value: readSecretFile(path) };
  } catch (error) {
    return { value: undefined, problem: `${variable}: ${path} ${(error as Error).message}` };
  }
}

/** Stands for a value that is not read; long enough for a secret. */
const UNREAD = 'placeholder-of-an-environment-variable-that-is-not-read';

/** Tells whether variables are set, and neither their values nor anything of their files. */
export function unreadVariables(environment: Environment): LookUpVariable {
  return (name) => ({ value: environment[name] || environment[`${name}_FILE`] ? UNREAD : undefined });
}
