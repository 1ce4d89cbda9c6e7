/** `polygate top`: rates, endpoints and the last requests, drawn anew each second, from the store. */

import { loadConfig } from '../../config/load.ts';
import { sleep, systemClock } from '../../core/clock.ts';
import type { Json } from '../../core/json/json.ts';
import { hasPrice } from '../../routing/model-directory.ts';
import type { RequestFilter } from '../../store/operations/requests.ts';
import { offlineModels } from '../discovery.ts';
import { withKeys } from '../keys.ts';
import { type ConfigOptions, configSource } from '../source.ts';
import { printJson } from '../table.ts';
import { drawScreen, FIRST_STATE, press, type ScreenState } from './screen.ts';
import { lookAtTop, type TopView } from './view.ts';

export interface TopOptions extends ConfigOptions {
  /** Id or name. */
  key?: string;
  model?: string;
  once?: boolean;
  json?: boolean;
}

const INTERVAL_MS = 1000;
/** Size of a page without a terminal. */
const PLAIN_SIZE = { columns: 200, rows: 40 };
const ALTERNATE_SCREEN = '\x1b[?1049h\x1b[?25l';
const USUAL_SCREEN = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_REST = '\x1b[J';

/** Ends with `once`, without a terminal, by a key, or by a signal. */
export async function top({ key, model, once, json, ...options }: TopOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  const models = await offlineModels(config);
  await withKeys(config, async ({ keys, store }) => {
    const names = await keys.names();
    const filter: RequestFilter = {
      ...(key !== undefined && { keyId: (await keys.find(key)).id }),
      ...(model !== undefined && { model }),
    };
    const look = () =>
      lookAtTop({ store, clock: systemClock }, { filter, names, hasPrice: (name) => hasPrice(models, name) });
    if (json) printJson(encodeView(await look()));
    else if (once || !process.stdout.isTTY || !process.stdin.isTTY) {
      const lines = drawScreen(await look(), FIRST_STATE, PLAIN_SIZE);
      process.stdout.write(`${lines.slice(0, -2).join('\n')}\n`);
    } else await followOnScreen(look);
  });
}

async function followOnScreen(look: () => Promise<TopView>): Promise<void> {
  const { stdin, stdout } = process;
  let view = await look();
  let state: ScreenState = FIRST_STATE;
  const over = new AbortController();
  const draw = () => {
    const lines = drawScreen(view, state, { columns: stdout.columns, rows: stdout.rows });
    stdout.write(`${HOME}${lines.map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_REST}`);
  };
  const onKey = (text: string) => {
    state = press(state, text, view);
    if (state.isOver) over.abort();
    else draw();
  };
  const end = () => over.abort();
  stdin.setRawMode(true).setEncoding('utf8').on('data', onKey).resume();
  process.once('SIGINT', end).once('SIGTERM', end);
  stdout.write(ALTERNATE_SCREEN);
  stdout.on('resize', draw);
  try {
    while (!over.signal.aborted) {
      draw();
      await sleep(systemClock, INTERVAL_MS, over.signal);
      if (!over.signal.aborted) view = await look();
    }
  } finally {
    stdout.off('resize', draw);
    stdout.write(USUAL_SCREEN);
    stdin.off('data', onKey).setRawMode(false).pause();
  }
}

function encodeView(view: TopView): Json {
  const { running, perMinute, hourlyCost, unknownCosts, failedShare, partial, interrupted, firstByte, total } = view;
  return {
    span_ms: view.span,
    running,
    requests_per_minute: perMinute,
    cost_per_hour: hourlyCost,
    unknown_costs: unknownCosts,
    failed_share: failedShare,
    partial,
    interrupted,
    first_byte_ms: firstByte,
    total_ms: total,
    endpoints: view.endpoints.map((row) => ({
      endpoint: row.endpoint,
      requests: row.requests,
      failed: row.failed,
      first_byte_ms: row.firstByte,
      total_ms: row.total,
      cooldown_ms: row.cooldown === null ? null : Math.round(row.cooldown),
    })),
    requests: view.requests.map((request) => ({
      id: request.id,
      time: new Date(request.time).toISOString(),
      key: request.key,
      requested_model: request.requested,
      model: request.model,
      state: request.state,
      cost: request.cost,
      first_byte_ms: request.firstByte,
      total_ms: request.total,
      dropped: request.dropped,
      attempts: request.attempts ?? null,
    })),
  };
}
