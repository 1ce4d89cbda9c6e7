/** A running gateway, as the command line and the supervision of workers use it. */

import type { Config } from '../config/resolved.ts';
import type { AskedCapture } from '../http/captures.ts';
import type { OpenCircuit } from '../routing/circuit-breaker.ts';
import type { UnknownModel } from '../routing/model-names.ts';
import type { IntentFilter } from '../store/operations/requests.ts';
import type { ProviderState } from './provider-state.ts';

export interface RunningGateway {
  address: { host: string; port: number };
  /** Address of the admin API, if enabled. */
  admin: { host: string; port: number } | undefined;
  providers(): ProviderState[];
  /** Models of the routing settings that no provider has; known once models are discovered. */
  unknownModels(): UnknownModel[];
  /** Resolves once the models of all providers are known, or asking for them failed. */
  discovered(): Promise<void>;
  /** Applies providers, models and deadlines at once; returns the changed settings that need a restart. */
  reload(config: Config): string[];
  /** The file was changed, and is not in use. */
  refuseReload(reason: string): void;
  /** Metrics of this process in the Prometheus text format. */
  metricsText(): Promise<string>;
  /** Stores pending usage records. */
  flushed(): Promise<void>;
  /** A job of a kind is due. */
  wake(kind: string): void;
  /** In a worker: adopts the cooldown of an endpoint whose circuit another worker opened. */
  adoptCooldown(circuit: OpenCircuit): void;
  /** In a worker: returns a capture of this process as JSON text. */
  findCapture(asked: AskedCapture): string | undefined;
  /** Number of requests that run in this process. */
  countRunning(filter: IntentFilter): number;
  /** In a primary: sets the address at which its workers listen. */
  setAddress(address: { host: string; port: number }): void;
  /** In a primary: settles the open requests of a worker that has ended. */
  forgetWorker(instance: string): Promise<void>;
  /** Makes the gateway not ready; it goes on answering until it is closed. */
  drain(): void;
  /** Graceful shutdown: stops accepting, aborts requests after `grace` milliseconds, resolves when all have ended. */
  close(grace?: number): Promise<void>;
}
