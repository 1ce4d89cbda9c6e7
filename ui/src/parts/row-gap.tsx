/** Gap in place of the rows of a long table that are not in the document. */

export function RowGap({ columns, height }: { columns: number; height: number }) {
  if (height === 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={columns} className="!border-0 !p-0" style={{ height }} />
    </tr>
  );
}
