/** Questions of the dashboard over many records, each with its budget. */

export const DAYS = 90;
export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
/** Zone whose days one question asks for, beside those of UTC. */
export const ZONE = 'Asia/Kolkata';
export const ZONE_MINUTES = 330;

const LIST_MS = 100;
/** Of a value that few records or none have: the first answer. */
const RARE_MS = 250;
const REPORT_MS = 300;

export interface Question {
  title: string;
  /** The round makes each question a new one. */
  path(round: number): string;
  mostMs: number;
}

/** `last` is when the last record ended, in Unix milliseconds. */
export function questionsUntil(last: number): Question[] {
  const iso = (moment: number): string => new Date(moment).toISOString();
  const month = `from=${iso(last - 30 * DAY_MS)}`;
  const quarter = `from=${iso(last - DAYS * DAY_MS)}`;
  const questions: [title: string, mostMs: number, path: (round: number) => string][] = [
    ['newest requests', LIST_MS, (round) => `requests?to=${iso(last - round * 1000)}`],
    ['requests of a time 60 days ago', LIST_MS, (round) => `requests?to=${iso(last - 60 * DAY_MS - round * HOUR_MS)}`],
    ['requests of a busy key', LIST_MS, (round) => `requests?key=key-${round}`],
    ['requests of a rare key', LIST_MS, (round) => `requests?key=key-${500 + round}`],
    ['requests of a model', LIST_MS, (round) => `requests?model=p${round % 6}/m-${round}`],
    ['failed requests', LIST_MS, (round) => `requests?status=failed&to=${iso(last - round * HOUR_MS)}`],
    ['conversations of the newest requests', REPORT_MS, (round) => `requests/sessions?to=${iso(last - round * 1000)}`],
    ['summary of an hour', LIST_MS, (round) => `requests/summary?from=${iso(last - (round + 1) * HOUR_MS)}`],
    [
      'summary of 30 days, percentiles',
      REPORT_MS,
      (round) => `requests/summary?${month}&to=${iso(last - round * HOUR_MS)}`,
    ],
    ['requests of no model', RARE_MS, (round) => `requests?model=p9/m-${round}`],
    ['requests of no tag', RARE_MS, (round) => `requests?tag=team%3Dnone-${round}`],
    ['requests over 60 s, 1 in 10,000', RARE_MS, (round) => `requests?slower_than=${60_000 + round}`],
    ['requests over 1 USD, none', RARE_MS, (round) => `requests?cost_above=1.${round}`],
    ['use of 30 days by model', REPORT_MS, (round) => `usage?${month}&by=model&top=${8 + round}`],
    ['use of 30 days by day and key', REPORT_MS, (round) => `usage?${month}&by=day,key&top=${8 + round}`],
    [
      'use of 30 days by day in Kolkata',
      REPORT_MS,
      (round) => `usage?${month}&by=day,model&zone=${ZONE}&top=${8 + round}`,
    ],
    ['use of 30 days by team', REPORT_MS, (round) => `usage?${month}&by=tag:team&top=${8 + round}`],
    ['use of 30 days by key, failed', REPORT_MS, (round) => `usage?${month}&by=key&status=failed&top=${8 + round}`],
    ['use of 90 days of a key by day', REPORT_MS, (round) => `usage?${quarter}&by=day&key=key-${500 + round}`],
    [
      'models of a key in all time',
      REPORT_MS,
      (round) => `usage?from=2010-01-01&by=model&top=1&key=key-${500 + round}`,
    ],
    ['use of 90 days by key and model', REPORT_MS, (round) => `usage?${quarter}&by=key,model&top=${8 + round}`],
  ];
  return questions.map(([title, mostMs, path]) => ({ title, mostMs, path }));
}
