/** Long rows: scenarios of the chaos tests; their figures, without their targets. */

import type { Scenario } from '../../test/chaos/stage.ts';
import { type Figure, figure } from '../figure.ts';
import type { Row } from './row.ts';

export const longRows: readonly Row[] = [
  longRow(
    'webhooks',
    'burst of due webhooks',
    async () => (await import('../../test/chaos/scenarios/dead-host.ts')).storm,
  ),
  longRow(
    'videos',
    'restart with 100,000 open video tasks',
    async () => (await import('../../test/chaos/scenarios/many-open-tasks.ts')).manyOpenTasks,
  ),
];

/** Tests are loaded only where such a row runs. */
function longRow(id: string, title: string, load: () => Promise<Scenario>): Row {
  return {
    ...{ id, title, isLong: true },
    async run({ say }) {
      const [{ play }, scenario] = await Promise.all([import('../../test/chaos/stage.ts'), load()]);
      const figures = await play(scenario, say);
      return figures.map(({ name, measured }) => numeric(id, name, measured));
    },
  };
}

/** A figure of a scenario is a text such as `1,234 ms`. */
function numeric(row: string, metric: string, measured: string): Figure {
  const [, value = '0', unit = ''] = /^([\d.,]+) ?(.*)$/.exec(measured) ?? [];
  return figure({ row, subject: 'strict', metric, value: Number(value.replaceAll(',', '')), unit });
}
