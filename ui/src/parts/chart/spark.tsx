/** Course of a figure as a line of the size of a word. */

interface SparkProps {
  values: readonly number[];
  /** With its figures, also for those who point at it. */
  label: string;
}

const WIDTH = 84;
const HEIGHT = 20;

export function Spark({ values, label }: SparkProps) {
  const most = Math.max(...values, 0) || 1;
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${index * step},${HEIGHT - 1 - (value / most) * (HEIGHT - 3)}`);
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" className="inline-block">
      <title>{label}</title>
      <polyline
        points={points.join(' ')}
        fill="none"
        className="stroke-accent"
        strokeWidth="1.4"
        strokeLinejoin="round"
      />
    </svg>
  );
}
