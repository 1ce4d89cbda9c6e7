/** Choice of one of a few values, side by side. */

interface SegmentsProps<Value extends string> {
  label: string;
  values: readonly Value[];
  value: Value;
  names?: Partial<Record<Value, string>>;
  onChange(value: NoInfer<Value>): void;
}

export function Segments<Value extends string>({ label, values, value, names = {}, onChange }: SegmentsProps<Value>) {
  return (
    // A fieldset is as wide as its content unless it is told otherwise.
    <fieldset className="inline-flex w-fit min-w-0 max-w-full overflow-x-auto max-sm:flex-wrap rounded-lg border bg-surface p-0.5">
      <legend className="sr-only">{label}</legend>
      {values.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === value}
          onClick={() => onChange(one)}
          className="min-h-[24px] shrink-0 rounded-md whitespace-nowrap px-2.5 max-sm:px-2 text-dim hover:text-ink aria-pressed:bg-hover dark:aria-pressed:bg-line aria-pressed:font-medium aria-pressed:text-ink"
        >
          {names[one] ?? one}
        </button>
      ))}
    </fieldset>
  );
}
