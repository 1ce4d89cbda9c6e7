/** Text places: where the frames of a relayed stream hold text. */

/** Positions of generated text in the frames of a stream, used to measure it without parsing. */
export interface TextPlaces {
  /** Text follows the first of these marks; a frame without any mark has no text. */
  after: readonly string[];
  /** Text precedes this mark. */
  before?: string;
  /** Members with text; a frame uses one of them. */
  text: readonly string[];
  /** Members of tool calls. */
  calls: readonly string[];
  /** A frame may have several parts; otherwise only the first member of a name counts. There may always be several calls. */
  several?: boolean;
}
