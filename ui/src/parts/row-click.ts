/** A click anywhere in a row of a table opens what its first button opens. */

/** Elements that take their clicks by themselves. */
const INTERACTIVE = 'a, button, input, select, textarea, label, summary, [role=button]';

/** One listener for all tables. A button stretched over its row would do it too, but hide the row's text from selection. */
export function openRowsOnClick(): void {
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element) || target.closest(INTERACTIVE)) return;
    const button = target.closest('tr[data-opens]')?.querySelector('button');
    // The end of a selection of text is a click, too.
    if (!button || getSelection()?.type === 'Range') return;
    // The panel gives the focus back when it closes.
    button.focus();
    button.click();
  });
}
