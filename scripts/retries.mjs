/** Which test files are run again: those whose failures the runner's report places. */

/** The line with which the report on a failed test begins. */
const PLACE = /^test at (.+):\d+:\d+$/;
/** More failed files than this are no accident. */
const MOST_FILES = 4;

/** The file that a line of the report places a failure in, with forward slashes. */
export function placeOfFailure(line) {
  return PLACE.exec(line)?.[1].replaceAll('\\', '/');
}

/** None if a failure is at another place: a group that ended early, or a shared helper, could be of any file. */
export function retriedFiles(places, testFiles) {
  const files = [...places];
  return files.length <= MOST_FILES && files.every((file) => testFiles.includes(file)) ? files : [];
}
