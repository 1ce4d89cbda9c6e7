/** Files of `deploy`, read for tests. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Json } from '../../src/core/json/json.ts';
import { ROOT } from '../docs/markdown.ts';

export const DEPLOY = join(ROOT, 'deploy');

export function deployText(path: string): string {
  return readFileSync(join(DEPLOY, path), 'utf8');
}

export function deployYaml(path: string): Json {
  return parse(deployText(path), { merge: true });
}

export interface Alert {
  name: string;
  expression: string;
  annotations: Record<string, string>;
}

export function alerts(): Alert[] {
  const { groups } = deployYaml('prometheus/rules.yaml');
  return groups.flatMap((group: Json) =>
    group.rules.map(({ alert, expr, annotations }: Json) => ({ name: alert, expression: expr, annotations })),
  );
}

export interface Dashboard {
  file: string;
  content: Json;
  /** Queries of its panels. */
  expressions: string[];
}

export function dashboards(): Dashboard[] {
  const files = readdirSync(join(DEPLOY, 'grafana')).filter((file) => file.endsWith('.json'));
  return files.map((file) => {
    const content = JSON.parse(deployText(`grafana/${file}`));
    const expressions = content.panels.flatMap(({ targets }: Json) => targets.map(({ expr }: Json) => expr));
    return { file, content, expressions };
  });
}
