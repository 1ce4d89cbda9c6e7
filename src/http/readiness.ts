/** `GET /readyz`: whether requests should be sent here, which `/healthz`, a sign of life, doesn't say. */

import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { Store, StoreHealth } from '../store/store.ts';
import type { Recorder } from '../usage/recorder.ts';

/** Milliseconds that a finding holds. */
const FRESH = 1000;

export type AnswerReadiness = (reply: FastifyReply) => Promise<FastifyReply>;

/** Why the store doesn't work is for the log alone. Without a recorder only the store is asked. */
export function createReadiness(
  store: Pick<Store, 'health'>,
  log: Logger,
  recorder?: Pick<Recorder, 'ready'>,
): AnswerReadiness {
  let checked = Number.NEGATIVE_INFINITY;
  let checking: Promise<StoreHealth> | undefined;
  let known: StoreHealth = { writable: true };

  async function check(): Promise<StoreHealth> {
    const { writable } = known;
    known = await store.health();
    checked = performance.now();
    if (writable && !known.writable) log.error({ problem: known.problem }, 'the store is unavailable');
    if (!writable && known.writable) log.info('the store is available again');
    return known;
  }

  return async (reply) => {
    if (performance.now() - checked >= FRESH) {
      checking ??= check().finally(() => {
        checking = undefined;
      });
    }
    const { writable } = await (checking ?? known);
    reply.header('cache-control', 'no-store');
    const unavailable = (reason: string) => reply.code(503).send({ status: 'unavailable', reason });
    if (!writable) return unavailable('The store cannot be written to.');
    if (recorder && !recorder.ready) return unavailable('Records of use cannot be written.');
    return reply.send({ status: 'ok' });
  };
}
