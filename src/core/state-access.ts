/** State access: where an operation's bodies hold opaque state of providers, such as signatures of reasoning. */

import type { Json } from './json/json.ts';

export interface StateAccess {
  /** Names of members, at any depth, that hold opaque state. */
  readonly fields: readonly string[];
  /** The model turns of a request, which may hold state. */
  modelTurns(body: Json): Json[];
  /** Unwraps state of `origin` in a relayed body, in place; removes other state with the reasoning it signs. Returns whether it changed. */
  restore(body: Json, origin: string): boolean;
  /** `restore` changes no body without a member in `fields`, nor one whose text, without escapes, holds none of these marks. */
  readonly marks: readonly string[];
  /** Only the account that obtained the state can read it, and only over this protocol; else every account of the provider. */
  readonly ofAccount?: true;
}
