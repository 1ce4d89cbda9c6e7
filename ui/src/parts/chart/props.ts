/** What a chart of bars shows. */

export interface Bucket {
  /** Start of the time that the bar stands for. */
  at: string;
  /** By the id of the series. */
  values: Readonly<Record<string, number>>;
}

export interface Series {
  id: string;
  label: string;
}

/** A course beside the bars, drawn over them. */
export interface Line {
  label: string;
  /** One for each bucket. */
  values: readonly number[];
}

export interface BarsProps {
  /** A sentence for those who do not see the bars. */
  label: string;
  buckets: readonly Bucket[];
  series: readonly Series[];
  line?: Line | undefined;
  format(value: number): string;
  formatTime(at: string): string;
  /** Whether the figures are shown as a table instead, and what is called to change that. */
  isTable: boolean;
  onTable(isTable: boolean): void;
  /** Called with the first and the last bucket of a span that was drawn with the pointer. */
  onZoom?(from: Bucket, to: Bucket): void;
  /** Called with the id of the series whose part of a bar was clicked. */
  onPick?(id: string): void;
  /** Id of the series that stands out. */
  marked?: string | undefined;
  /** Called with the id of the series that is pointed at, and with nothing when none is. */
  onMark?(id: string | undefined): void;
}
