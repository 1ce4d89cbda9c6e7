/** How long texts of clients may be that name something: each is looked up, compared or written again, some many times. */

/** A media type with its parameters. */
export const MAX_MEDIA_TYPE_CHARACTERS = 255;
/** A model, with what its name says of routing. */
export const MAX_MODEL_CHARACTERS = 1024;
/** A tool, a field or a speaker. */
export const MAX_NAME_CHARACTERS = 1024;
/** A call or a file. Some gateways keep signatures of thoughts in the ids of calls. */
export const MAX_ID_CHARACTERS = 65_536;
/** An address; those that are signed are the longest. */
export const MAX_ADDRESS_CHARACTERS = 16 * 1024;
/** A message of an error. */
export const MAX_MESSAGE_CHARACTERS = 4096;
/** The field that an error names. */
export const MAX_FIELD_CHARACTERS = 256;

/** The text, cut where it is longer than that. */
export function shortened(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 3)}...` : text;
}
